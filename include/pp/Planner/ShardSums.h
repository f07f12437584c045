//===- ShardSums.h - which ops sum what their shards have -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Some ops have two rules: to cut a part out of a dimension that is split, or
// to look rows up in it, either the dimension is gathered, or each shard gives
// what it has of the result and that is summed. Which one is said on the op
// before anything asks for its rule, and stays: padding and what it puts in
// between change sizes, and an op that changed its rule then would be
// partitioned otherwise than its sharding was derived.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_SHARDSUMS_H
#define PP_PLANNER_SHARDSUMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"

namespace pp {

/// Writes `pp.in_shards` on `op` if it has two rules and does not say which. A
/// sum sends twice what is summed; on which mesh does not count, for every
/// machine gets the same program.
void chooseShardSum(ShardingOpInterface op);

/// The same for all ops of `main`. Refuses what says it and has one rule.
mlir::LogicalResult chooseShardSums(mlir::func::FuncOp main);

} // namespace pp

#endif // PP_PLANNER_SHARDSUMS_H
