//===- LayoutWays.h - ops on the way to another layout ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A partial value may go through ops that keep dimensions, as a bias is added,
// into another layout. Reduced first into the layout that these ops have
// otherwise, and moved from there, it would send more than on the cheapest way
// from one to the other, which the ops can be on: reduce_scatter, the ops,
// all_to_all, all_gather instead of all_reduce, the ops, all_to_all.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_LAYOUTWAYS_H
#define PP_LIB_TRANSFORMS_SHARD_LAYOUTWAYS_H

#include "Resharder.h"

namespace pp {

/// True if `user` runs on a stage on which `made` does not; what is assigned to
/// none goes where it is needed.
bool isFarFrom(mlir::Operation *made, mlir::Operation *user);

/// Has `op` compute, by its `factors`, where the cheapest way from the one
/// partial operand that nobody else reads leads first, if its result is on its
/// way to a change of layout and its other operands are there without sending
/// anything. `formOf` says how an operand was made.
void keepOnTheWay(mlir::Operation *op, const ShardingRule &rule,
                  Layout &factors, const MeshView &mesh, Resharder &resharder,
                  llvm::function_ref<const LocalValue &(mlir::Value)> formOf);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_LAYOUTWAYS_H
