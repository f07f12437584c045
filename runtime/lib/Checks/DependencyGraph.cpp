//===- DependencyGraph.cpp - the order of instructions --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "DependencyGraph.h"

#include <queue>

using namespace pprt;
using namespace pprt::checks;

DependencyGraph::DependencyGraph(const Ranks &ranks, const RankClasses &classes,
                                 const std::vector<Rendezvous> &matched,
                                 Section section, uint64_t &operations)
    : ranks(ranks), matched(matched), section(section), operations(operations),
      firstOfRank(ranks.mesh.worldSize()) {
  for (uint32_t i = 0; i < ranks.artifact.programs.size(); ++i)
    orders.emplace_back(ranks.instructionsOf(i, section),
                        ranks.artifact.programs[i]->queues.size());
  for (uint32_t rank : classes.speakers()) {
    firstOfRank[rank] = Node(refs.size());
    const size_t count = ranks.instructions(rank, section).size();
    for (uint32_t index = 0; index < count; ++index)
      refs.push_back({rank, section, index});
  }
  commOps.assign(refs.size(), kNoCommOp);
  for (uint32_t commOp = 0; commOp < matched.size(); ++commOp)
    for (const InstructionRef &member : matched[commOp])
      if (member.section == section)
        commOps[nodeOf(member)] = commOp;
  operations += refs.size();
  addSuccessors();
}

void DependencyGraph::addSuccessors() {
  first.assign(refs.size() + 1, 0);
  pendingCount.assign(refs.size(), 0);
  for (Node node = 0; node < refs.size(); ++node)
    forEachBefore(node, [&](Node before) {
      ++first[headOf(before) + 1];
      ++pendingCount[headOf(node)];
    });
  for (size_t i = 1; i < first.size(); ++i)
    first[i] += first[i - 1];
  successors.resize(first.back());
  std::vector<size_t> end(first.begin(), first.end() - 1);
  for (Node node = 0; node < refs.size(); ++node)
    forEachBefore(node, [&](Node before) {
      successors[end[headOf(before)]++] = headOf(node);
    });
  operations += successors.size();
}

std::vector<DependencyGraph::Node> DependencyGraph::complete() {
  // Ordered by the place in the list, so that the order is near each rank's.
  using Entry = std::pair<uint32_t, Node>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (Node node = 0; node < refs.size(); ++node)
    if (headOf(node) == node && pendingCount[node] == 0)
      ready.emplace(refs[node].index, node);
  std::vector<Node> order;
  while (!ready.empty()) {
    const Node done = ready.top().second;
    ready.pop();
    order.push_back(done);
    operations += 1 + first[done + 1] - first[done];
    for (size_t i = first[done]; i < first[done + 1]; ++i)
      if (const Node next = successors[i]; --pendingCount[next] == 0)
        ready.emplace(refs[next].index, next);
  }
  return order;
}
