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

namespace pp {

/// Builds in `builder`'s place a function called `name` that computes rows
/// [begin, end) of a loops kernel. Its arguments are a memref per kernel
/// parameter (KernelCompiler.h), one of bytes for scratch if it has a workspace
/// (`pp.workspace` tells its index), the launch's scalars, begin and end; its
/// body is one loop of linalg ops on the parts that a row sees.
mlir::FailureOr<mlir::func::FuncOp> buildRowLoop(mlir::OpBuilder &builder,
                                                 mlir::func::FuncOp kernel,
                                                 llvm::StringRef name);

} // namespace pp

#endif // PP_LIB_TARGET_ROWLOOP_H
