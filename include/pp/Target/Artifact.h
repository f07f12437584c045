//===- Artifact.h - level 4 to .ppx -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a module that passes pp-verify-programs. Out: the artifact in memory, in
// the form that the runtime checks, executes and writes to a file.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TARGET_ARTIFACT_H
#define PP_TARGET_ARTIFACT_H

#include "mlir/IR/BuiltinOps.h"
#include "pprt/Mesh.h"
#include "pprt/Ppx.h"
#include "pprt/Status.h"
#include <memory>

namespace pp {

/// Translates a module of level 4: mesh, programs, kernels, the table of
/// arguments and results, the plan. The machine code of loops kernels
/// (`object`) is left empty: see pp/Target/KernelCompiler.h.
mlir::FailureOr<std::unique_ptr<pprt::ppx::ArtifactT>>
buildArtifact(mlir::ModuleOp module);

/// The same, after it has passed every check: structure, races, deadlock,
/// memory.
mlir::FailureOr<std::unique_ptr<pprt::ppx::ArtifactT>>
buildCheckedArtifact(mlir::ModuleOp module);

struct MeshedArtifact {
  std::unique_ptr<pprt::ppx::ArtifactT> artifact;
  pprt::Mesh mesh;
};

/// The same with the mesh that its ranks are numbered over, for predictions.
mlir::FailureOr<MeshedArtifact> buildMeshedArtifact(mlir::ModuleOp module);

/// Reports a failure of the runtime at `module`, with its exit code. A bad
/// artifact that was built from a module counts as a module that does not
/// compile.
mlir::LogicalResult report(mlir::ModuleOp module, const pprt::Status &status);

} // namespace pp

#endif // PP_TARGET_ARTIFACT_H
