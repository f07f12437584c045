//===- DependencyGraph.h - the order of instructions ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: one section of the classes' speakers, and a complete matching. Out: a
// graph of the instructions that must complete before others, and an order of
// it.
//
// Under rendezvous semantics the sides of a comm op complete together, so each
// comm op is one node of the graph; every other instruction is a node of its
// own. An edge leads from a node that must complete to a node that may start
// then: the next in the queue, or an instruction with a wait. Nothing in it
// depends on timing, so the graph is acyclic exactly if every run ends.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_CHECKS_DEPENDENCYGRAPH_H
#define PPRT_LIB_CHECKS_DEPENDENCYGRAPH_H

#include "Passes.h"
#include "Sections.h"

namespace pprt::checks {

class DependencyGraph {
public:
  /// Instructions are numbered; a comm op has the number of its first member,
  /// its head.
  using Node = uint32_t;

  /// `matched` may have comm ops of other sections, too. Counts steps in
  /// `operations`.
  DependencyGraph(const Ranks &ranks, const RankClasses &classes,
                  const std::vector<Rendezvous> &matched, Section section,
                  uint64_t &operations);

  /// Kahn's algorithm: completes every node that waits for no incomplete one,
  /// earlier ones in their lists first, and returns them in this order. The
  /// other nodes lie on a cycle or behind one.
  std::vector<Node> complete();

  size_t size() const { return refs.size(); }
  const InstructionRef &operator[](Node node) const { return refs[node]; }
  bool isComplete(Node head) const { return pendingCount[head] == 0; }
  Node headOf(Node node) const {
    return commOps[node] == kNoCommOp ? node
                                      : nodeOf(matched[commOps[node]].front());
  }
  /// Calls `visit` for each node of the same rank that must complete before
  /// `node` starts.
  template <typename Visitor>
  void forEachBefore(Node node, Visitor visit) const {
    const InstructionRef &ref = refs[node];
    forEachPredecessor(
        ranks.instructions(ref.rank, section),
        orders[ranks.programOf(ref.rank)], ref.index,
        [&](uint32_t before) { visit(firstOfRank[ref.rank] + before); });
  }
  /// Calls `visit` for each node that was fused into `head`.
  template <typename Visitor>
  void forEachMember(Node head, Visitor visit) const {
    if (commOps[head] == kNoCommOp)
      return visit(head);
    for (const InstructionRef &member : matched[commOps[head]])
      visit(nodeOf(member));
  }

private:
  static constexpr uint32_t kNoCommOp = ~uint32_t(0);

  Node nodeOf(const InstructionRef &ref) const {
    return firstOfRank[ref.rank] + ref.index;
  }
  void addSuccessors();

  const Ranks &ranks;
  const std::vector<Rendezvous> &matched;
  const Section section;
  uint64_t &operations;
  std::vector<QueueOrder> orders;     ///< per program
  std::vector<Node> firstOfRank;      ///< of the speakers
  std::vector<InstructionRef> refs;   ///< per node
  std::vector<uint32_t> commOps;      ///< per node, an index into `matched`
  std::vector<uint32_t> pendingCount; ///< per head, edges from incomplete nodes
  /// The heads that wait for node n are successors[first[n] .. first[n + 1]).
  std::vector<size_t> first;
  std::vector<Node> successors;
};

} // namespace pprt::checks

#endif // PPRT_LIB_CHECKS_DEPENDENCYGRAPH_H
