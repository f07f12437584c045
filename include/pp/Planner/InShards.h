//===- InShards.h - gather a dimension, or work in its shards ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Some ops need a split dimension whole, but can also work on its shards.
// Either the dimension is gathered, or each shard does its part and they share
// the results: scans (a running sum, argmax, top_k) share a few numbers of a
// long row; slices and look-ups sum what each shard has. Only bytes count, not
// calls, so that every machine gets the same program.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_INSHARDS_H
#define PP_PLANNER_INSHARDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"

namespace pp {

/// Bytes that a rank sends.
struct ScanCosts {
  double gathered, inShards;
  bool paysInShards() const { return inShards < gathered; }
};

/// The costs for operand 0 of `op`, which needs `dim` whole and whose
/// dimensions are split into `shards` parts each; nothing if the op cannot work
/// in shards.
std::optional<ScanCosts> measureScan(ShardingOpInterface op, unsigned dim,
                                     llvm::ArrayRef<int64_t> shards);

/// Writes `pp.in_shards` on `op` if it has two sharding rules and does not say
/// which one to use. A sum sends twice its bytes. The choice is written before
/// the first use of the rule and stays, since padding changes sizes later.
void chooseShardSum(ShardingOpInterface op);

/// The same for all ops of `main`. Refuses `pp.in_shards` on an op with one
/// rule.
mlir::LogicalResult chooseShardSums(mlir::func::FuncOp main);

} // namespace pp

#endif // PP_PLANNER_INSHARDS_H
