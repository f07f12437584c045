//===- Predict.cpp - what a step will need --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Translates level 4 to the artifact and asks it, as `pp-run --dry-run` does:
// there is one prediction.
//
//===----------------------------------------------------------------------===//
#include "pp/Predict/Prediction.h"
#include "pp/Target/Artifact.h"
#include "pp/Transforms/Passes.h"
#include "pprt/Checks.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_PREDICT
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

struct PredictPass : pp::impl::PredictBase<PredictPass> {
  void runOnOperation() override {
    auto artifact = buildArtifact(getOperation());
    if (failed(artifact))
      return signalPassFailure();
    // What is not sound, or does not end, has no timeline.
    if (failed(
            report(getOperation(), pprt::checkArtifact(**artifact).status())))
      return signalPassFailure();
    auto mesh = pprt::Mesh::create((*artifact)->axes);
    if (failed(report(getOperation(), mesh.status())))
      return signalPassFailure();
    llvm::errs() << predict::print(predict::predict(**artifact, *mesh),
                                   **artifact);
    markAllAnalysesPreserved();
  }
};

} // namespace
