//===- KernelPipeline.h - from linalg to the LLVM dialect -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Between buildRowLoop(), which says what a kernel computes, and
// compileObject(), which knows no MLIR but the LLVM dialect.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_KERNELPIPELINE_H
#define PP_LIB_TARGET_KERNELPIPELINE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"

namespace pp {

/// Dialects and models that lowering a kernel needs.
void registerKernelDialects(mlir::DialectRegistry &registry);

/// Lowers a module that holds one function of buildRowLoop to the LLVM dialect.
/// Scratch memory is on the stack, or in the function's workspace where the
/// kernel was given one by pp-reserve-scratch.
mlir::LogicalResult lowerToLLVM(mlir::ModuleOp module);

/// Bytes that a loops kernel needs of a workspace for each range of rows that
/// runs at a time; 0 if the stack has room for its scratch.
mlir::FailureOr<int64_t> measureScratch(mlir::func::FuncOp kernel);

} // namespace pp

#endif // PP_LIB_TARGET_KERNELPIPELINE_H
