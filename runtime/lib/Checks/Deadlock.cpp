//===- Deadlock.cpp - can every instruction complete? ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a sound structure and a complete matching. Out: nothing, or for each
// section that has one a cycle of instructions that wait for each other.
//
// Under rendezvous semantics the sides of a meeting complete together, so each
// meeting becomes one node of a graph; every other instruction is a node of its
// own. An edge leads from what must complete to what then may start: the next
// in the queue, or an instruction with a wait. Nothing in it depends on timing,
// hence: the graph is acyclic exactly if every run ends.
//
// The graph of a whole run (setup, any number of bodies, teardown) need not
// be built. A rank's section starts after all of the one before, and meetings
// stay within a section, so that no edge leads back to an earlier section: a
// cycle lies within one, and all bodies are alike.
//
//===----------------------------------------------------------------------===//
#include "Passes.h"
#include "Sections.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::checks;

namespace {

using Node = uint32_t;
constexpr Node kNoNode = ~Node(0);
constexpr uint32_t kNoMeeting = ~uint32_t(0);

/// One section of the ranks that speak for all. Each instruction has a number;
/// a meeting is known by that of its first member, its head.
class DependencyGraph {
public:
  DependencyGraph(const Ranks &ranks, const RankClasses &classes,
                  const std::vector<Rendezvous> &matched, Section section,
                  Report &report);

  void reportCycle();

private:
  /// `waiter` and `before` are instructions of one rank.
  struct Hop {
    Node waiter = kNoNode, before = kNoNode;
  };

  Node nodeOf(const InstructionRef &ref) const {
    return firstOfRank[ref.rank] + ref.index;
  }
  Node headOf(Node node) const {
    return meetings[node] == kNoMeeting
               ? node
               : nodeOf(matched[meetings[node]].front());
  }
  template <typename Visitor>
  void forEachBefore(Node node, Visitor visit) const;
  template <typename Visitor>
  void forEachMember(Node head, Visitor visit) const;

  void addSuccessors();
  void complete();
  Hop anIncompleteHop(Node head) const;
  std::vector<Hop> shortestCycleThrough(Node head) const;
  std::string describeNode(Node node) const;
  std::string describeCycle(const std::vector<Hop> &cycle) const;

  const Ranks &ranks;
  const std::vector<Rendezvous> &matched;
  const Section section;
  Report &report;
  std::vector<QueueOrder> orders;     ///< per program
  std::vector<Node> firstOfRank;      ///< of those who speak
  std::vector<InstructionRef> refs;   ///< per node
  std::vector<uint32_t> meetings;     ///< per node, an index into `matched`
  std::vector<uint32_t> pendingCount; ///< per head, edges from incomplete nodes
  /// The heads that wait for node n are successors[first[n] .. first[n + 1]).
  std::vector<size_t> first;
  std::vector<Node> successors;
};

} // namespace

DependencyGraph::DependencyGraph(const Ranks &ranks, const RankClasses &classes,
                                 const std::vector<Rendezvous> &matched,
                                 Section section, Report &report)
    : ranks(ranks), matched(matched), section(section), report(report),
      firstOfRank(ranks.mesh.worldSize(), kNoNode) {
  for (const auto &program : ranks.artifact.programs)
    orders.emplace_back(instructionsOf(*program, section),
                        program->queues.size());
  for (uint32_t rank : classes.speakers()) {
    firstOfRank[rank] = Node(refs.size());
    const size_t count = instructionsOf(ranks.program(rank), section).size();
    for (uint32_t index = 0; index < count; ++index)
      refs.push_back({rank, section, index});
  }
  meetings.assign(refs.size(), kNoMeeting);
  for (uint32_t meeting = 0; meeting < matched.size(); ++meeting)
    for (const InstructionRef &member : matched[meeting])
      if (member.section == section)
        meetings[nodeOf(member)] = meeting;
  report.work(refs.size());
}

/// Calls `visit` for each node of the same rank that must complete before
/// `node` starts.
template <typename Visitor>
void DependencyGraph::forEachBefore(Node node, Visitor visit) const {
  const InstructionRef &ref = refs[node];
  forEachPredecessor(
      instructionsOf(ranks.program(ref.rank), section),
      orders[ranks.programOf(ref.rank)], ref.index,
      [&](uint32_t before) { visit(firstOfRank[ref.rank] + before); });
}

/// Calls `visit` for each node that was fused into `head`.
template <typename Visitor>
void DependencyGraph::forEachMember(Node head, Visitor visit) const {
  if (meetings[head] == kNoMeeting)
    return visit(head);
  for (const InstructionRef &member : matched[meetings[head]])
    visit(nodeOf(member));
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
  report.work(successors.size());
}

/// Kahn's algorithm: completes every node that waits for nothing incomplete.
/// What is left lies on a cycle or behind one.
void DependencyGraph::complete() {
  std::vector<Node> ready;
  for (Node node = 0; node < refs.size(); ++node)
    if (headOf(node) == node && pendingCount[node] == 0)
      ready.push_back(node);
  while (!ready.empty()) {
    const Node done = ready.back();
    ready.pop_back();
    report.work(1 + first[done + 1] - first[done]);
    for (size_t i = first[done]; i < first[done + 1]; ++i)
      if (--pendingCount[successors[i]] == 0)
        ready.push_back(successors[i]);
  }
}

/// Some reason why `head` is not complete.
DependencyGraph::Hop DependencyGraph::anIncompleteHop(Node head) const {
  Hop hop;
  forEachMember(head, [&](Node member) {
    forEachBefore(member, [&](Node before) {
      if (pendingCount[headOf(before)] != 0)
        hop = {member, before};
    });
  });
  return hop;
}

/// Breadth first over incomplete nodes, from a node on a cycle back to itself.
std::vector<DependencyGraph::Hop>
DependencyGraph::shortestCycleThrough(Node start) const {
  std::vector<Hop> reachedBy(refs.size());
  std::vector<Node> frontier = {start};
  for (size_t i = 0; i < frontier.size() && reachedBy[start].waiter == kNoNode;
       ++i)
    forEachMember(frontier[i], [&](Node member) {
      forEachBefore(member, [&](Node before) {
        const Node head = headOf(before);
        if (pendingCount[head] == 0 || reachedBy[head].waiter != kNoNode)
          return;
        reachedBy[head] = {member, before};
        frontier.push_back(head);
      });
    });
  std::vector<Hop> cycle;
  Node at = start;
  do {
    cycle.push_back(reachedBy[at]);
    at = headOf(reachedBy[at].waiter);
  } while (at != start);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

std::string DependencyGraph::describeNode(Node node) const {
  return describe(refs[node], ranks.instruction(refs[node]));
}

std::string
DependencyGraph::describeCycle(const std::vector<Hop> &cycle) const {
  std::string result =
      describeNode(cycle.front().waiter) + ": expects to complete, got a cycle";
  for (size_t i = 0; i < cycle.size(); ++i) {
    const Hop &hop = cycle[i];
    const bool sameQueue = ranks.instruction(refs[hop.waiter]).queue ==
                           ranks.instruction(refs[hop.before]).queue;
    result += text("\n    ", i == 0 ? "it " : "which ",
                   sameQueue ? "comes after " : "waits for ",
                   describeNode(hop.before));
    const Node next = cycle[(i + 1) % cycle.size()].waiter;
    if (next != hop.before)
      result += text("\n    which meets ", describeNode(next));
  }
  return result;
}

void DependencyGraph::reportCycle() {
  addSuccessors();
  complete();
  const auto incomplete =
      std::find_if(pendingCount.begin(), pendingCount.end(),
                   [](uint32_t count) { return count != 0; });
  if (incomplete == pendingCount.end())
    return;
  // Every incomplete node has an incomplete one before it, so that walking
  // back must come around.
  Node node = Node(incomplete - pendingCount.begin());
  std::vector<bool> seen(refs.size());
  while (!seen[node]) {
    seen[node] = true;
    node = headOf(anIncompleteHop(node).before);
  }
  const std::vector<Hop> cycle = shortestCycleThrough(node);
  report.add(refs[cycle.front().waiter], describeCycle(cycle));
}

void checks::checkDeadlock(const Ranks &ranks, const RankClasses &classes,
                           const std::vector<Rendezvous> &matched,
                           Report &report) {
  for (Section section : kSections)
    DependencyGraph(ranks, classes, matched, section, report).reportCycle();
}
