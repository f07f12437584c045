//===- ParameterLayouts.h - where parameters lie otherwise ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_PARAMETERLAYOUTS_H
#define PP_LIB_TRANSFORMS_SHARD_PARAMETERLAYOUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"

namespace pp {

/// The axes over which a parameter may lie split further.
using GetAxes =
    llvm::function_ref<llvm::SmallVector<llvm::StringRef>(llvm::StringRef)>;

/// Writes `pp.reshard` over `getAxes` of its name wherever a parameter, its
/// gradient or its new value goes from one of its three layouts to another:
/// stored (as the argument lies between steps), used (by forward and backward)
/// and updated. `zero` 1 splits what is updated, 2 gradients in every
/// micro-batch, 3 what is stored, which is then gathered where it is used, or
/// once a step. Takes `pp.parameter` from the ops of updates, and names what is
/// done in every micro-batch, or before all of them, by it.
mlir::LogicalResult writeParameterLayouts(mlir::func::FuncOp main, int64_t zero,
                                          bool gathersOnce, GetAxes getAxes);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_PARAMETERLAYOUTS_H
