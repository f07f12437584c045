//===- SpreadRemarks.h - conflicts and requests not met ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Derived from the fixed point: the source of every axis, operands in another
// layout than their op, and requests that cannot be met.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_SPREADREMARKS_H
#define PP_LIB_TRANSFORMS_SHARD_SPREADREMARKS_H

#include "FoldedRemarks.h"
#include "pp/Analysis/ShardingSpread.h"
#include "pp/Transforms/Sources.h"

namespace pp {

/// The sources of the axes of `values`, results of op `number` or an argument.
SourcesOf findSources(const ShardingSpread &graph, llvm::ArrayRef<int> values,
                      int number);

/// Emits a remark about an operand that an op reads in another layout: the
/// sources of the axes that it loses, and of those in their place.
void remarkConflict(const ShardingSpread &graph,
                    const ShardingSpread::Node &node, const MeshView &mesh,
                    FoldedRemarks &remarks);

/// The sources of axes of `value` in place of the wanted ones, or of the wanted
/// axes elsewhere.
std::string spellRivals(const ShardingSpread::Value &value,
                        const Layout &wanted, const Layout &got);

/// Dimensions of a tensor of an op that may be split over `shards`:
/// `0 or 2`.
std::string spellSplittable(const ShardingRule &rule,
                            const TensorFactors &tensor, int64_t shards);

/// If an op would need the neighbours of each element along a split dimension:
/// an error if that split was requested explicitly, a remark if it spread
/// there; the operand is gathered then.
mlir::LogicalResult checkNeighbours(const ShardingSpread &graph,
                                    const ShardingSpread::Node &node,
                                    const MeshView &mesh,
                                    FoldedRemarks &remarks);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_SPREADREMARKS_H
