//===- Deadlock.cpp - can every instruction complete? ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a sound structure and a complete matching. Out: nothing, or one cycle of
// instructions that wait for each other.
//
// Under rendezvous semantics the sides of a meeting complete together, so each
// meeting becomes one node of a graph; every other instruction is a node of its
// own. An edge leads from what must complete to what waits for it: the next in
// the queue, an instruction with a wait, the start of the next section. Nothing
// in it depends on timing, hence: the graph is acyclic exactly if every run
// ends. The prologue, two bodies and the epilogue stand for any number of
// steps, since an edge reaches from one section to the next at most.
//
//===----------------------------------------------------------------------===//
#include "Passes.h"
#include "Sections.h"

#include <array>

using namespace pprt;
using namespace pprt::checks;

namespace {

using Node = uint32_t;
constexpr Node kNoNode = ~Node(0);
constexpr uint32_t kNoMeeting = ~uint32_t(0);

/// The sections in the order they run.
constexpr std::array<Section, 4> kRuns = {Section::prologue, Section::body,
                                          Section::body, Section::epilogue};

/// Before fusing, every rank has for each run of a section a node for its
/// start, followed by one per instruction. A meeting is known by the node of
/// its first member, its head.
class DependencyGraph {
public:
  DependencyGraph(const World &world, const std::vector<Rendezvous> &matched,
                  Report &report);

  /// A cycle, if there is one.
  std::optional<std::string> findCycle();

private:
  struct Place {
    uint32_t run, rank;
    uint32_t index; ///< kNoNode for the start of the run
  };
  /// `waiter` and `before` are instructions of one rank.
  struct Hop {
    Node waiter = kNoNode, before = kNoNode;
  };

  Node node(uint32_t run, uint32_t rank, uint32_t index) const {
    return starts[run][rank] + 1 + index;
  }
  Node headOf(Node node) const;
  const QueueOrder &orderOf(const Place &place) const {
    return orders[world.programOfRank[place.rank] * kSections.size() +
                  size_t(kRuns[place.run])];
  }
  const InstructionList &listOf(const Place &place) const {
    return instructionsOf(world.program(place.rank), kRuns[place.run]);
  }
  template <typename Visitor>
  void forEachBefore(Node node, Visitor visit) const;
  template <typename Visitor>
  void forEachMember(Node head, Visitor visit) const;

  void buildSuccessors();
  void resolve();
  Hop unresolvedHop(Node head) const;
  std::vector<Hop> shortestCycleThrough(Node head) const;
  std::string describeNode(Node node) const;
  std::string describeCycle(const std::vector<Hop> &cycle) const;

  const World &world;
  const std::vector<Rendezvous> &matched;
  Report &report;
  /// Per program and section.
  std::vector<QueueOrder> orders;
  std::array<std::vector<Node>, kRuns.size()> starts;
  std::vector<Place> places;
  std::vector<uint32_t> meetings; ///< per node, an index into `matched`
  /// Heads that wait for node n: successors[first[n] .. first[n + 1]).
  std::vector<Node> successors;
  std::vector<size_t> first;
  std::vector<uint32_t> unresolvedCount; ///< per head, incoming edges
};

} // namespace

DependencyGraph::DependencyGraph(const World &world,
                                 const std::vector<Rendezvous> &matched,
                                 Report &report)
    : world(world), matched(matched), report(report) {
  for (const auto &program : world.artifact.programs)
    for (Section section : kSections)
      orders.emplace_back(instructionsOf(*program, section),
                          program->queues.size());
  for (uint32_t run = 0; run < kRuns.size(); ++run)
    for (uint32_t rank = 0; rank < world.mesh.worldSize(); ++rank) {
      starts[run].push_back(Node(places.size()));
      places.push_back({run, rank, kNoNode});
      const size_t count = listOf(places.back()).size();
      for (uint32_t index = 0; index < count; ++index)
        places.push_back({run, rank, index});
    }
  meetings.assign(places.size(), kNoMeeting);
  for (uint32_t meeting = 0; meeting < matched.size(); ++meeting)
    for (const InstructionRef &member : matched[meeting])
      for (uint32_t run = 0; run < kRuns.size(); ++run)
        if (kRuns[run] == member.section)
          meetings[node(run, member.rank, member.index)] = meeting;
  report.work(places.size());
}

Node DependencyGraph::headOf(Node n) const {
  if (meetings[n] == kNoMeeting)
    return n;
  const InstructionRef &head = matched[meetings[n]].front();
  return node(places[n].run, head.rank, head.index);
}

/// Calls `visit` for each node of the same rank that must complete before
/// `node` starts.
template <typename Visitor>
void DependencyGraph::forEachBefore(Node n, Visitor visit) const {
  const Place &place = places[n];
  if (place.index != kNoNode) {
    if (orderOf(place).position[place.index] == 0)
      visit(starts[place.run][place.rank]);
    forEachPredecessor(
        listOf(place), orderOf(place), place.index,
        [&](uint32_t before) { visit(node(place.run, place.rank, before)); });
    return;
  }
  if (place.run == 0)
    return;
  // A run starts when the one before has started and all its queues are done.
  const Place previous = {place.run - 1, place.rank, kNoNode};
  visit(starts[previous.run][previous.rank]);
  for (const std::vector<uint32_t> &queue : orderOf(previous).instructions)
    if (!queue.empty())
      visit(node(previous.run, previous.rank, queue.back()));
}

/// Calls `visit` for each node that was fused into `head`.
template <typename Visitor>
void DependencyGraph::forEachMember(Node head, Visitor visit) const {
  if (meetings[head] == kNoMeeting)
    return visit(head);
  for (const InstructionRef &member : matched[meetings[head]])
    visit(node(places[head].run, member.rank, member.index));
}

void DependencyGraph::buildSuccessors() {
  first.assign(places.size() + 1, 0);
  unresolvedCount.assign(places.size(), 0);
  for (Node n = 0; n < places.size(); ++n)
    forEachBefore(n, [&](Node before) {
      ++first[headOf(before) + 1];
      ++unresolvedCount[headOf(n)];
    });
  for (size_t i = 1; i < first.size(); ++i)
    first[i] += first[i - 1];
  successors.resize(first.back());
  std::vector<size_t> end(first.begin(), first.end() - 1);
  for (Node n = 0; n < places.size(); ++n)
    forEachBefore(
        n, [&](Node before) { successors[end[headOf(before)]++] = headOf(n); });
  report.work(successors.size());
}

/// Kahn's algorithm: completes every node that waits for nothing incomplete.
/// What remains incomplete lies on a cycle or behind one.
void DependencyGraph::resolve() {
  std::vector<Node> ready;
  for (Node n = 0; n < places.size(); ++n)
    if (headOf(n) == n && unresolvedCount[n] == 0)
      ready.push_back(n);
  while (!ready.empty()) {
    const Node done = ready.back();
    ready.pop_back();
    report.work(1 + first[done + 1] - first[done]);
    for (size_t i = first[done]; i < first[done + 1]; ++i)
      if (--unresolvedCount[successors[i]] == 0)
        ready.push_back(successors[i]);
  }
}

/// Some reason why `head` cannot complete.
DependencyGraph::Hop DependencyGraph::unresolvedHop(Node head) const {
  Hop hop;
  forEachMember(head, [&](Node member) {
    forEachBefore(member, [&](Node before) {
      if (unresolvedCount[headOf(before)] != 0)
        hop = {member, before};
    });
  });
  return hop;
}

/// Breadth first over incomplete nodes, from a node on a cycle back to itself.
std::vector<DependencyGraph::Hop>
DependencyGraph::shortestCycleThrough(Node start) const {
  std::vector<Hop> reachedBy(places.size());
  std::vector<Node> frontier = {start};
  for (size_t i = 0; i < frontier.size() && reachedBy[start].waiter == kNoNode;
       ++i)
    forEachMember(frontier[i], [&](Node member) {
      forEachBefore(member, [&](Node before) {
        const Node head = headOf(before);
        if (unresolvedCount[head] == 0 || reachedBy[head].waiter != kNoNode)
          return;
        reachedBy[head] = {member, before};
        frontier.push_back(head);
      });
    });
  std::vector<Hop> backwards;
  Node at = start;
  do {
    backwards.push_back(reachedBy[at]);
    at = headOf(reachedBy[at].waiter);
  } while (at != start);
  return {backwards.rbegin(), backwards.rend()};
}

std::string DependencyGraph::describeNode(Node n) const {
  const Place &place = places[n];
  const Section section = kRuns[place.run];
  const char *later = place.run == 2 ? " of the next step" : "";
  if (place.index == kNoNode)
    return text("the start of the ", sectionName(section), " on rank ",
                place.rank, later);
  const InstructionRef ref = {place.rank, section, place.index};
  return describe(ref, world.instruction(ref)) + later;
}

std::string
DependencyGraph::describeCycle(const std::vector<Hop> &cycle) const {
  std::string result =
      describeNode(cycle.front().waiter) + ": expects to complete, got a cycle";
  for (size_t i = 0; i < cycle.size(); ++i) {
    const Hop &hop = cycle[i];
    const Place &waiter = places[hop.waiter], &before = places[hop.before];
    const bool sameQueue = waiter.index != kNoNode && before.index != kNoNode &&
                           listOf(waiter)[waiter.index]->queue ==
                               listOf(before)[before.index]->queue;
    result += text("\n    ", i == 0 ? "it " : "which ",
                   sameQueue ? "comes after " : "waits for ",
                   describeNode(hop.before));
    const Node next = cycle[(i + 1) % cycle.size()].waiter;
    if (next != hop.before)
      result += text("\n    which meets ", describeNode(next));
  }
  return result;
}

std::optional<std::string> DependencyGraph::findCycle() {
  buildSuccessors();
  resolve();
  Node incomplete = 0;
  while (incomplete < places.size() && unresolvedCount[incomplete] == 0)
    ++incomplete;
  if (incomplete == places.size())
    return std::nullopt;
  // Every incomplete node has an incomplete one before it, so that walking
  // back must come around.
  std::vector<bool> seen(places.size());
  while (!seen[incomplete]) {
    seen[incomplete] = true;
    incomplete = headOf(unresolvedHop(incomplete).before);
  }
  return describeCycle(shortestCycleThrough(incomplete));
}

void checks::checkDeadlock(const World &world,
                           const std::vector<Rendezvous> &matched,
                           Report &report) {
  if (auto cycle = DependencyGraph(world, matched, report).findCycle())
    report.add(std::move(*cycle));
}
