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

/// How a parameter may lie split further.
struct SharedOut {
  llvm::SmallVector<llvm::StringRef> axes;
  llvm::SmallVector<int64_t> whole; ///< dimensions that may not, ascending
};
using GetSharedOut = llvm::function_ref<SharedOut(mlir::BlockArgument)>;

/// Writes `pp.reshard` as `getSharedOut` says wherever a parameter, its
/// gradient or its new value goes from one of its three layouts to another:
/// stored (as the argument lies between steps), used (by forward and backward)
/// and updated. `zero` 1 splits what is updated, 2 gradients in every
/// micro-batch, 3 what is stored, which is then gathered where it is used, or
/// once a step. Takes `pp.parameter` from the ops of updates, and names what is
/// done in every micro-batch, or before all of them, by it.
mlir::LogicalResult writeParameterLayouts(mlir::func::FuncOp main, int64_t zero,
                                          bool gathersOnce,
                                          GetSharedOut getSharedOut);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_PARAMETERLAYOUTS_H
