//===- Search.cpp - Dijkstra over shardings -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The states of a tensor on a mesh are few (11 for a matrix on two axes, 106
// for rank 3 on three), so the plain algorithm is exact and fast enough.
//
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <unordered_map>

namespace pp::reshard {
namespace {

/// A reached state, and the cheapest way to it so far.
struct Node {
  double weight;
  int parent; ///< -1 at the source
  Move move;  ///< from the parent; its result is this node's state
  bool closed = false;
};

/// An entry of the queue; entries of closed nodes are stale.
using Entry = std::pair<double, int>;

} // namespace

/// A small weight of every move, so that among equally cheap plans the one with
/// fewer moves wins: far below any difference that matters, far above rounding
/// errors. Its scale is the longest collective there is.
static double tieBreak(const Problem &problem, const State &from) {
  double latency = 0, secondsPerByte = 0, devices = 1;
  for (int axis = 0; axis < problem.axisCount(); ++axis) {
    if (problem.fixed[axis])
      continue;
    latency = std::max(latency, problem.links[axis].latency);
    secondsPerByte =
        std::max(secondsPerByte, problem.links[axis].secondsPerByte);
    devices *= static_cast<double>(problem.sizes[axis]);
  }
  double longest = 2 * devices * latency +
                   2 * devices * localBytes(problem, from) * secondsPerByte;
  return longest > 0 ? 1e-12 * longest : 1;
}

std::optional<std::vector<Move>> findCheapestMoves(const Problem &problem,
                                                   const State &from,
                                                   const State &to,
                                                   bool towards) {
  double perMove = tieBreak(problem, from);
  std::vector<Node> nodes;
  std::unordered_map<State, int, State::Hash> nodeOf;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;

  Move start;
  start.kind = StepKind::AllSlice;
  start.result = from;
  nodes.push_back({0, -1, start});
  nodeOf[from] = 0;
  queue.push({0, 0});

  while (!queue.empty()) {
    int current = queue.top().second;
    queue.pop();
    if (nodes[current].closed)
      continue;
    nodes[current].closed = true;
    State state = nodes[current].move.result;
    if (state == to) {
      std::vector<Move> moves;
      for (; nodes[current].parent >= 0; current = nodes[current].parent)
        moves.push_back(nodes[current].move);
      std::reverse(moves.begin(), moves.end());
      return moves;
    }
    // Two permutes in a row are never cheaper than their product.
    bool withPermutes = nodes[current].move.kind != StepKind::Permute;
    double base = nodes[current].weight + perMove;
    const auto reach = [&](const Move &move) {
      double weight = base + move.seconds;
      auto [found, isNew] =
          nodeOf.try_emplace(move.result, static_cast<int>(nodes.size()));
      if (isNew)
        nodes.push_back({weight, current, move});
      else if (weight < nodes[found->second].weight)
        nodes[found->second] = {weight, current, move};
      else
        return;
      queue.push({weight, found->second});
    };
    if (towards)
      forEachMoveTowards(problem, state, to, reach);
    else
      forEachMove(problem, state, withPermutes, reach);
  }
  return std::nullopt;
}

} // namespace pp::reshard
