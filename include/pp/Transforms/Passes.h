//===- Passes.h - every pass of the compiler --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Their options, and functions that create and register them. What each takes
// and leaves is said in Passes.td, their order in Pipelines.h.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_PASSES_H
#define PP_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "pp/IR/PP.h"
#include "pp/Schedule/Topology.h"

namespace pp {

/// Reports that `module` is of another level than `pass` takes, and which pass
/// leads to that one. What says no level and has ops of level 1 alone is a model;
/// of what else says none, nothing is known.
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

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "pp/Transforms/Passes.h.inc"

} // namespace pp

#endif // PP_TRANSFORMS_PASSES_H
