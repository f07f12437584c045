//===- ShardSums.cpp - chooses sums of shards or gathers ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: ops of level 1 on global shapes without padding. Out: `pp.in_shards` on
// those with two sharding rules.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"
#include "pp/Planner/InShards.h"

using namespace mlir;
using namespace pp;

void pp::chooseShardSum(ShardingOpInterface op) {
  const std::optional<ShardSum> sum = op.getShardSum();
  if (sum && !op->hasAttr(attrs::kInShards))
    op->setAttr(
        attrs::kInShards,
        Builder(op.getContext()).getBoolAttr(2 * sum->summed <= sum->gathered));
}

LogicalResult pp::chooseShardSums(func::FuncOp main) {
  for (auto op : main.getOps<ShardingOpInterface>()) {
    chooseShardSum(op);
    if (op->hasAttr(attrs::kInShards) && !op.getShardSum())
      return op->emitError("expects ")
             << attrs::kInShards
             << " on an op that takes or adds up a part of a dimension, got "
             << op->getName()
             << ", which has one way to be split: leave it out";
  }
  return success();
}
