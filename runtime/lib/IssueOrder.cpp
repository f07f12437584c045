//===- IssueOrder.cpp - an order of commands for devices ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/IssueOrder.h"
#include "Checks/DependencyGraph.h"

#include <algorithm>
#include <numeric>

using namespace pprt;

// Orders one rank per class: an order that is possible among the speakers is
// possible among all ranks.
IssueOrder::IssueOrder(const Ranks &given, Section section)
    : ranks(given), section(section), classOf(ranks.mesh.worldSize()) {
  uint64_t operations = 0;
  checks::FindingList mismatches(FindingKind::mismatch, operations);
  const auto classes = RankClasses::coarsest(ranks, operations);
  const auto matched = checks::matchCommunication(ranks, classes, mismatches);
  checks::DependencyGraph graph(ranks, classes, matched, section, operations);
  for (uint32_t rank = 0; rank < classOf.size(); ++rank) {
    const uint32_t speaker = classes.speakerOf(rank);
    if (speaker != rank) {
      classOf[rank] = classOf[speaker];
      continue;
    }
    classOf[rank] = uint32_t(positions.size());
    positions.emplace_back(ranks.instructions(rank, section).size());
  }
  uint32_t position = 0;
  for (checks::DependencyGraph::Node head : graph.complete()) {
    graph.forEachMember(head, [&](checks::DependencyGraph::Node node) {
      const InstructionRef &ref = graph[node];
      positions[classOf[ref.rank]][ref.index] = position;
    });
    ++position;
  }
}

uint32_t IssueOrder::leader(uint32_t rank, uint32_t index) const {
  const Instruction instruction = ranks.instructions(rank, section)[index];
  switch (instruction->opcode) {
  case ppx::Opcode_send:
  case ppx::Opcode_recv:
    return std::min(rank, ranks.mesh.peer(rank, instruction->peer_stage));
  case ppx::Opcode_collective:
    return ranks.mesh.leader(*ranks.artifact.groups[instruction->group], rank);
  default:
    return rank;
  }
}

std::vector<uint32_t> IssueOrder::of(uint32_t rank) const {
  std::vector<uint32_t> order(positions[classOf[rank]].size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return position(rank, a) < position(rank, b);
  });
  return order;
}
