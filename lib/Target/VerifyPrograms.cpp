//===- VerifyPrograms.cpp - prove the programs ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Translates level 4 to the artifact and applies the runtime's checks to it, so
// that the compiler and the loader can never disagree.
//
//===----------------------------------------------------------------------===//
#include "pp/IR/Diagnostics.h"
#include "pp/Target/Artifact.h"
#include "pp/Transforms/Passes.h"
#include "pprt/Bytes.h"
#include "pprt/Checks.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_VERIFYPROGRAMS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

struct VerifyProgramsPass : pp::impl::VerifyProgramsBase<VerifyProgramsPass> {
  using VerifyProgramsBase::VerifyProgramsBase;

  void runOnOperation() override {
    auto artifact = buildArtifact(getOperation());
    if (failed(artifact))
      return signalPassFailure();
    const std::optional<uint64_t> limit = pprt::parseBytes(memoryLimit);
    if (!limit) {
      getOperation().emitError("expects a memory-limit that is ")
          << pprt::kBytesSyntax << ", got '" << memoryLimit << "'";
      return signalPassFailure();
    }
    pprt::CheckOptions options;
    if (*limit > 0)
      options.memoryLimit = limit;
    pprt::CheckResult result = pprt::checkArtifact(**artifact, options);
    if (result.status().ok())
      return;
    InFlightDiagnostic diagnostic =
        getOperation().emitError(result.status().message());
    setExitCode(diagnostic, int(result.status().code()));
    signalPassFailure();
  }
};

} // namespace
