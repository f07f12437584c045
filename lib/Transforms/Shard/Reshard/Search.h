//===- Search.h - The cheapest moves between two states -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Dijkstra over states, for one pair of shardings; the planner caches what it
// finds. Assumes a problem that the planner has checked.
//
//===----------------------------------------------------------------------===//

#ifndef PP_TRANSFORMS_SHARD_RESHARD_SEARCH_H
#define PP_TRANSFORMS_SHARD_RESHARD_SEARCH_H

#include "State.h"

#include <optional>

namespace pp::reshard {

/// The cheapest moves from one state to another, none if they are equal,
/// nullopt if no moves lead there. Equally cheap: the fewest moves. Of all
/// moves, or, `towards`, of those that lead straight to the target.
std::optional<std::vector<Move>> findCheapestMoves(const Problem &problem,
                                                   const State &from,
                                                   const State &to,
                                                   bool towards);

} // namespace pp::reshard

#endif // PP_TRANSFORMS_SHARD_RESHARD_SEARCH_H
