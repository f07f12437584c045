//===- VerifyModel.h - checks for all levels --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the verify passes, each of which adds the checks of its level. Op
// verifiers have passed.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_VERIFYMODEL_H
#define PP_IR_VERIFYMODEL_H

#include "pp/IR/Model.h"

namespace pp {

/// Checks a module of `level` apart from the bodies of its ops: plan and mesh,
/// and the attributes of `main`, its arguments and results. Without a level: a
/// model before its training step is made.
mlir::LogicalResult verifyModel(mlir::ModuleOp module, mlir::func::FuncOp main,
                                std::optional<Level> level);

/// Checks that no op of `main` reads a value of a later part of the step:
/// forward ops come before gradients, gradients before the update.
mlir::LogicalResult verifyKinds(mlir::func::FuncOp main);

/// Checks that `op` carries none of the attributes `names`, which `pass` adds.
mlir::LogicalResult verifyHasNone(mlir::Operation *op,
                                  llvm::ArrayRef<llvm::StringLiteral> names,
                                  llvm::StringRef pass);

} // namespace pp

#endif // PP_IR_VERIFYMODEL_H
