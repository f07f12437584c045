//===- ScanCosts.h - whether a scan works in its shards ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An op may need a dimension whole of which shards have a part each. Either the
// dimension is gathered, or each shard does its part of the work first and they
// share what that comes to: a few numbers where little is sought of a long row,
// and more than the row where much is sought of a short one.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_SCANCOSTS_H
#define PP_PLANNER_SCANCOSTS_H

#include "pp/IR/PP.h"

namespace pp {

/// Bytes that a rank sends for it.
struct ScanCosts {
  double gathered, inShards;

  /// Calls do not count: what they take is a matter of links, and every machine
  /// gets the same program.
  bool paysInShards() const { return inShards < gathered; }
};

/// Of operand 0 of `op`, whose dimensions lie in so many `shards` each and
/// which needs `dim` whole; nothing where the op knows no way to work in
/// shards.
std::optional<ScanCosts> measureScan(ShardingOpInterface op, unsigned dim,
                                     llvm::ArrayRef<int64_t> shards);

} // namespace pp

#endif // PP_PLANNER_SCANCOSTS_H
