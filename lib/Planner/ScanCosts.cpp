//===- ScanCosts.cpp - costs of scans in shards ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an op of level 1 and the shards of its operand. Bytes are those of the
// best algorithms; links do not count.
//
//===----------------------------------------------------------------------===//
#include "pp/IR/Values.h"
#include "pp/Planner/InShards.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pp;

std::optional<ScanCosts> pp::measureScan(ShardingOpInterface op, unsigned dim,
                                         ArrayRef<int64_t> shards) {
  const std::optional<int64_t> inShards = op.getBytesInShards(dim, shards[dim]);
  if (!inShards)
    return std::nullopt;
  RankedTensorType type = ranked(op->getOperand(0));
  const double whole =
      double(type.getNumElements()) *
      llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
  // A gather sends each shard's part to all others; a sum does so twice, which
  // the bytes count.
  const double sent =
      double(shards[dim] - 1) / double(llvm::product_of(shards));
  return ScanCosts{whole * sent, double(*inShards) * sent};
}
