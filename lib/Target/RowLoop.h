//===- RowLoop.h - a kernel as a loop over its rows -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a kernel of level 4. Out: what the kernel pipeline lowers. Rows are
// computed apart from each other, so that any ranges of them may run in
// parallel.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_ROWLOOP_H
#define PP_LIB_TARGET_ROWLOOP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/Analysis/RowLayout.h"

namespace pp {

/// Builds in `builder`'s place a function called `name` that computes rows
/// [begin, end) of a loops kernel. Its arguments are a memref per kernel
/// parameter (KernelCompiler.h), one of bytes for scratch if it has a workspace
/// (`pp.workspace` tells its index), the launch's scalars, begin and end; its
/// body is one loop of linalg ops on the parts that a row sees.
mlir::FailureOr<mlir::func::FuncOp> buildRowLoop(mlir::OpBuilder &builder,
                                                 mlir::func::FuncOp kernel,
                                                 llvm::StringRef name);

/// What rows see of the values of a kernel.
struct RowParts {
  int64_t rows = 1;
  llvm::SmallVector<RowLayout> results;
  /// Of each value that a row needs, its parts.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<RowLayout>> layouts;
};

/// Reports a `pp.rows` that does not fit the kernel.
mlir::FailureOr<RowParts> findRowParts(mlir::func::FuncOp kernel);

} // namespace pp

#endif // PP_LIB_TARGET_ROWLOOP_H
