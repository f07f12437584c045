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

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"

namespace pp {

/// Dialects and models that lowering a kernel needs.
void registerKernelDialects(mlir::DialectRegistry &registry);

/// Lowers a module that holds one function of buildRowLoop to the LLVM dialect.
mlir::LogicalResult lowerToLLVM(mlir::ModuleOp module);

} // namespace pp

#endif // PP_LIB_TARGET_KERNELPIPELINE_H
