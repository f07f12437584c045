//===- VerifyPrograms.cpp - prove the programs ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Translates level 4 to the artifact and applies the runtime's checks to it, so
// that the compiler and the loader can never disagree.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Threading.h"
#include "mlir/IR/Verifier.h"
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

LogicalResult pp::report(ModuleOp module, const pprt::Status &status) {
  if (status.ok())
    return success();
  InFlightDiagnostic diagnostic = module.emitError(status.message());
  if (status.code() != pprt::ExitCode::badArtifact)
    setExitCode(diagnostic, int(status.code()));
  return diagnostic;
}

/// On the threads of the module's context.
static pprt::CheckOptions getCheckOptions(ModuleOp module) {
  pprt::CheckOptions options;
  options.forEach = [context = module.getContext()](
                        size_t count,
                        const std::function<void(size_t)> &visit) {
    parallelFor(context, 0, count, visit);
  };
  return options;
}

FailureOr<std::unique_ptr<pprt::ppx::ArtifactT>>
pp::buildCheckedArtifact(ModuleOp module) {
  auto artifact = buildArtifact(module);
  if (failed(artifact) ||
      failed(report(
          module,
          pprt::checkArtifact(**artifact, getCheckOptions(module)).status())))
    return failure();
  return artifact;
}

FailureOr<MeshedArtifact> pp::buildMeshedArtifact(ModuleOp module) {
  auto artifact = buildCheckedArtifact(module);
  if (failed(artifact))
    return failure();
  auto mesh = pprt::Mesh::create((*artifact)->axes);
  if (failed(report(module, mesh.status())))
    return failure();
  return MeshedArtifact{std::move(*artifact), std::move(*mesh)};
}

namespace {

struct VerifyProgramsPass : pp::impl::VerifyProgramsBase<VerifyProgramsPass> {
  using VerifyProgramsBase::VerifyProgramsBase;

  void runOnModule() override {
    markAllAnalysesPreserved();
    if (failed(verify(getOperation())))
      return signalPassFailure();
    auto artifact = buildArtifact(getOperation());
    if (failed(artifact))
      return signalPassFailure();
    const std::optional<uint64_t> limit = pprt::parseBytes(memoryLimit);
    if (!limit) {
      getOperation().emitError("expects a memory-limit that is ")
          << pprt::kBytesSyntax << ", got '" << memoryLimit << "'";
      return signalPassFailure();
    }
    pprt::CheckOptions options = getCheckOptions(getOperation());
    if (*limit > 0)
      options.memoryLimit = limit;
    if (failed(report(getOperation(),
                      pprt::checkArtifact(**artifact, options).status())))
      signalPassFailure();
  }
};

} // namespace
