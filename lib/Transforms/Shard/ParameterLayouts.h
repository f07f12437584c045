//===- ParameterLayouts.h - layouts of parameters ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_PARAMETERLAYOUTS_H
#define PP_LIB_TRANSFORMS_SHARD_PARAMETERLAYOUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"

namespace pp {

/// How a parameter may be split further.
struct SharedOut {
  llvm::SmallVector<llvm::StringRef> axes;
  llvm::SmallVector<int64_t> whole; ///< dimensions that may not, ascending
};
using GetSharedOut = llvm::function_ref<SharedOut(mlir::BlockArgument)>;

/// Writes `pp.reshard` with `getSharedOut` wherever a parameter, its gradient
/// or its new value changes between its three layouts: stored (the argument
/// between steps), used (by forward and backward) and updated. `zero` 1 splits
/// the updated one, 2 gradients in every micro-batch, 3 the stored one, which
/// is then gathered for each use, or once a step. Takes `pp.parameter` from the
/// ops of updates, and puts it on the ops of every micro-batch and of the
/// prologue.
mlir::LogicalResult writeParameterLayouts(mlir::func::FuncOp main, int64_t zero,
                                          bool gathersOnce,
                                          GetSharedOut getSharedOut);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_PARAMETERLAYOUTS_H
