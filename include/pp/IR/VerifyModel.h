//===- VerifyModel.h - what holds of a module at every level -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For the verify pass of each level, which adds what holds there alone. Assumes
// what op verifiers check by themselves.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_VERIFYMODEL_H
#define PP_IR_VERIFYMODEL_H

#include "pp/IR/Model.h"

namespace pp {

/// Checks what a module of `level` holds beside `main`, its plan and mesh, and
/// what `main` says of its arguments and results. Without a level: a model
/// whose training step is still to be made.
mlir::LogicalResult verifyModel(mlir::ModuleOp module, mlir::func::FuncOp main,
                                std::optional<Level> level);

/// Checks that no op of `main` reads what a later part of the step computes:
/// forward ops come before gradients, gradients before the update.
mlir::LogicalResult verifyKinds(mlir::func::FuncOp main);

/// Checks that `op` carries none of the attributes `names`, which `pass` adds.
mlir::LogicalResult verifyHasNone(mlir::Operation *op,
                                  llvm::ArrayRef<llvm::StringLiteral> names,
                                  llvm::StringRef pass);

} // namespace pp

#endif // PP_IR_VERIFYMODEL_H
