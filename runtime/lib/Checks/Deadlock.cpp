//===- Deadlock.cpp - can every instruction complete? ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a sound structure and a complete matching. Out: for each section that has
// one, a cycle of instructions that wait for each other.
//
// The graph of a whole run (setup, any number of bodies, teardown) need not be
// built. A rank's section starts after all of the one before, and comm ops stay
// within a section, so no edge leads back to an earlier section: a cycle lies
// within one section, and all bodies are alike.
//
//===----------------------------------------------------------------------===//
#include "DependencyGraph.h"

#include <algorithm>
#include <utility>

using namespace pprt;
using namespace pprt::checks;

namespace {

/// Finds cycles among the nodes of a graph that do not complete.
class CycleFinder {
public:
  CycleFinder(const DependencyGraph &graph, const Ranks &ranks)
      : graph(graph), ranks(ranks) {}

  /// `head` is not complete.
  void report(DependencyGraph::Node head, FindingList &report) const;

private:
  using Node = DependencyGraph::Node;
  static constexpr Node kNoNode = ~Node(0);
  /// `waiter` and `before` are instructions of one rank.
  struct Hop {
    Node waiter = kNoNode, before = kNoNode;
  };

  Hop anIncompleteHop(Node head) const;
  std::vector<Hop> shortestCycleThrough(Node head) const;
  bool isOfOneQueue(const Hop &hop) const {
    return ranks.instruction(graph[hop.waiter])->queue ==
           ranks.instruction(graph[hop.before])->queue;
  }
  std::string describeNode(Node node) const;
  std::string describeCycle(const std::vector<Hop> &cycle) const;

  const DependencyGraph &graph;
  const Ranks &ranks;
};

} // namespace

/// Returns a reason why `head` is not complete.
CycleFinder::Hop CycleFinder::anIncompleteHop(Node head) const {
  Hop hop;
  graph.forEachMember(head, [&](Node member) {
    graph.forEachBefore(member, [&](Node before) {
      if (!graph.isComplete(graph.headOf(before)))
        hop = {member, before};
    });
  });
  return hop;
}

/// Breadth first over incomplete nodes, from a node on a cycle back to itself.
std::vector<CycleFinder::Hop>
CycleFinder::shortestCycleThrough(Node start) const {
  std::vector<Hop> reachedBy(graph.size());
  std::vector<Node> frontier = {start};
  for (size_t i = 0; i < frontier.size() && reachedBy[start].waiter == kNoNode;
       ++i)
    graph.forEachMember(frontier[i], [&](Node member) {
      graph.forEachBefore(member, [&](Node before) {
        const Node head = graph.headOf(before);
        if (graph.isComplete(head) || reachedBy[head].waiter != kNoNode)
          return;
        reachedBy[head] = {member, before};
        frontier.push_back(head);
      });
    });
  std::vector<Hop> cycle;
  Node at = start;
  do {
    cycle.push_back(reachedBy[at]);
    at = graph.headOf(reachedBy[at].waiter);
  } while (at != start);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

std::string CycleFinder::describeNode(Node node) const {
  return describe(graph[node], ranks.instruction(graph[node]));
}

std::string CycleFinder::describeCycle(const std::vector<Hop> &cycle) const {
  std::string result = describeNode(cycle.front().waiter) +
                       ": never completes: a cycle of waits";
  size_t between = 0;
  bool isFirst = true;
  for (size_t i = 0; i < cycle.size(); ++i) {
    const Hop &hop = cycle[i];
    const bool sameQueue = isOfOneQueue(hop);
    const Node next = cycle[(i + 1) % cycle.size()].waiter;
    // Of consecutive instructions of a queue, the report names only the first.
    if (sameQueue && next == hop.before && i + 1 < cycle.size() &&
        isOfOneQueue(cycle[i + 1])) {
      ++between;
      continue;
    }
    result += text("\n    ", std::exchange(isFirst, false) ? "it " : "which ",
                   sameQueue ? "comes after " : "waits for ",
                   describeNode(hop.before));
    if (between > 0)
      result += text(", with ", between, " between");
    between = 0;
    if (next != hop.before)
      result += text("\n    which meets ", describeNode(next));
  }
  return result;
}

void CycleFinder::report(Node head, FindingList &report) const {
  // Every incomplete node waits for an incomplete one, so walking back must
  // reach a node twice.
  std::vector<bool> seen(graph.size());
  Node node = head;
  while (!seen[node]) {
    seen[node] = true;
    node = graph.headOf(anIncompleteHop(node).before);
  }
  const std::vector<Hop> cycle = shortestCycleThrough(node);
  report.add(graph[cycle.front().waiter], describeCycle(cycle));
}

void checks::checkDeadlock(const Ranks &ranks, const RankClasses &classes,
                           const std::vector<Rendezvous> &matched,
                           FindingList &report) {
  for (Section section : kSections) {
    uint64_t operations = 0;
    DependencyGraph graph(ranks, classes, matched, section, operations);
    graph.complete();
    report.work(operations);
    for (DependencyGraph::Node node = 0; node < graph.size(); ++node)
      if (graph.headOf(node) == node && !graph.isComplete(node)) {
        CycleFinder(graph, ranks).report(node, report);
        break;
      }
  }
}
