//===- Passes.h - every pass of the compiler --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Their options, and functions that create and register them. Passes.td
// describes each pass, Pipelines.cpp their order.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_PASSES_H
#define PP_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "pp/IR/PP.h"
#include "pp/Schedule/Topology.h"

namespace pp {

/// Reports that `module` is of another level than `pass` takes, and which pass
/// leads to that level. A module without a level is a model if all its ops are
/// of level 1; otherwise its level is unknown.
mlir::LogicalResult checkLevel(mlir::ModuleOp module, llvm::StringRef pass,
                               Level level);

/// A pass over modules of one level.
template <Level level>
class LevelPass : public mlir::OperationPass<mlir::ModuleOp> {
protected:
  using mlir::OperationPass<mlir::ModuleOp>::OperationPass;
  virtual void runOnModule() = 0;

private:
  void runOnOperation() final {
    if (failed(checkLevel(getOperation(), getArgument(), level)))
      return signalPassFailure();
    runOnModule();
  }
};

/// The contract of level 3: every value is where it is read, results that
/// update an argument name one, and the schedule, if any, fits the mesh and can
/// run. pp-verify-pipeline checks it, and pp-lower-to-programs, which may be
/// called by itself. Assumes what verifyModel() checks.
mlir::LogicalResult verifyPipeline(mlir::func::FuncOp main, MeshAttr mesh);

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "pp/Transforms/Passes.h.inc"

} // namespace pp

#endif // PP_TRANSFORMS_PASSES_H
