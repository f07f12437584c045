//===- Matching.cpp - do the two ends of every transfer agree? ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a sound structure, in which the transfers of an edge, and the collectives
// of a group, go through one queue of each rank. Which instructions meet is
// therefore fixed before the run: the k-th send of an edge meets the k-th
// receive, the k-th collective of one member the k-th of every other.
// Out: those meetings, and a finding for each whose sides expect different
// things or that lacks a side. Sections are matched apart, because a body runs
// any number of times.
//
//===----------------------------------------------------------------------===//
#include "Passes.h"

#include <algorithm>
#include <map>

using namespace pprt;
using namespace pprt::checks;

static bool reduces(const ppx::InstructionT &i) {
  return i.collective == ppx::CollectiveKind_all_reduce ||
         i.collective == ppx::CollectiveKind_reduce_scatter;
}

/// Whether two collectives do the same; fields that their kind leaves unused
/// do not matter.
static bool sameCollective(const ppx::InstructionT &a,
                           const ppx::InstructionT &b) {
  if (a.collective != b.collective)
    return false;
  switch (a.collective) {
  case ppx::CollectiveKind_all_reduce:
    return a.reduction == b.reduction;
  case ppx::CollectiveKind_all_gather:
    return a.dimensions == b.dimensions;
  case ppx::CollectiveKind_reduce_scatter:
    return a.reduction == b.reduction && a.dimensions == b.dimensions;
  case ppx::CollectiveKind_all_to_all:
    return a.dimensions == b.dimensions &&
           a.split_dimensions == b.split_dimensions;
  case ppx::CollectiveKind_permute:
    return a.target_group == b.target_group;
  }
  return false;
}

namespace {

struct Edge {
  std::vector<InstructionRef> sends, receives;
};

/// Per member, in member order, its collectives.
using GroupInstance = std::vector<std::vector<InstructionRef>>;

/// Matches one section of all ranks.
class Matcher {
public:
  Matcher(const World &world, Section section, Report &report,
          std::vector<Rendezvous> &matched)
      : world(world), section(section), report(report), matched(matched) {}

  void match();

private:
  void collect(uint32_t rank);
  void matchEdge(uint32_t source, uint32_t target, const Edge &edge);
  void matchGroup(const GroupInstance &instance);
  bool agree(const InstructionRef &a, const InstructionRef &b) const;
  void compare(const InstructionRef &a, const InstructionRef &b);
  std::string terms(const InstructionRef &ref) const;

  const World &world;
  const Section section;
  Report &report;
  std::vector<Rendezvous> &matched;
  /// By source and target.
  std::map<std::pair<uint32_t, uint32_t>, Edge> edges;
  /// By group and the leader of the instance.
  std::map<std::pair<uint32_t, uint32_t>, GroupInstance> instances;
};

} // namespace

void Matcher::collect(uint32_t rank) {
  const InstructionList &list = instructionsOf(world.program(rank), section);
  report.work(list.size());
  for (uint32_t index = 0; index < list.size(); ++index) {
    const ppx::InstructionT &instruction = *list[index];
    const InstructionRef ref = {rank, section, index};
    switch (instruction.opcode) {
    case ppx::Opcode_send:
      edges[{rank, world.mesh.peer(rank, instruction.peer_stage)}]
          .sends.push_back(ref);
      break;
    case ppx::Opcode_recv:
      edges[{world.mesh.peer(rank, instruction.peer_stage), rank}]
          .receives.push_back(ref);
      break;
    case ppx::Opcode_collective: {
      const ppx::GroupT &group = *world.artifact.groups[instruction.group];
      GroupInstance &instance =
          instances[{instruction.group, world.mesh.leader(group, rank)}];
      instance.resize(world.mesh.memberCount(group));
      instance[world.mesh.memberIndex(group, rank)].push_back(ref);
      break;
    }
    default:
      break;
    }
  }
}

/// The same part of training and the same tensors; between stages also the
/// same stage, since a transfer is named after the one that computed it.
bool Matcher::agree(const InstructionRef &a, const InstructionRef &b) const {
  const ppx::InstructionT &x = world.instruction(a), &y = world.instruction(b);
  if (x.phase != y.phase || x.micro_batch != y.micro_batch ||
      x.arguments.size() != y.arguments.size())
    return false;
  if (x.opcode == ppx::Opcode_collective ? !sameCollective(x, y)
                                         : x.stage != y.stage)
    return false;
  const auto &xs = world.program(a.rank).slots,
             &ys = world.program(b.rank).slots;
  for (size_t i = 0; i < x.arguments.size(); ++i) {
    const ppx::SlotT &s = *xs[x.arguments[i]], &t = *ys[y.arguments[i]];
    if (s.bytes != t.bytes || s.element != t.element)
      return false;
  }
  return true;
}

/// What agree() compares, in words.
std::string Matcher::terms(const InstructionRef &ref) const {
  const ppx::InstructionT &instruction = world.instruction(ref);
  std::string result = actionName(instruction);
  if (instruction.opcode == ppx::Opcode_collective) {
    result += text(" ", ppx::EnumNameCollectiveKind(instruction.collective));
    if (reduces(instruction))
      result += text(" ", nameOf(instruction.reduction));
    for (uint32_t dimension : instruction.dimensions)
      result += text(" dimension ", dimension);
    for (uint32_t dimension : instruction.split_dimensions)
      result += text(" split ", dimension);
  }
  for (uint32_t argument : instruction.arguments) {
    const ppx::SlotT &slot = *world.program(ref.rank).slots[argument];
    result += text(", ", slot.bytes, " bytes ",
                   ppx::EnumNameElementType(slot.element));
  }
  return result;
}

void Matcher::compare(const InstructionRef &a, const InstructionRef &b) {
  report.work(1 + world.instruction(a).arguments.size());
  if (!agree(a, b))
    report.add(a, world.instruction(a),
               text("expects to meet ", terms(a), "; got ",
                    describe(b, world.instruction(b)), " with ", terms(b)));
}

void Matcher::matchEdge(uint32_t source, uint32_t target, const Edge &edge) {
  const size_t common = std::min(edge.sends.size(), edge.receives.size());
  for (size_t i = 0; i < common; ++i) {
    compare(edge.sends[i], edge.receives[i]);
    matched.push_back({edge.sends[i], edge.receives[i]});
  }
  if (edge.sends.size() == edge.receives.size())
    return;
  const InstructionRef &alone =
      edge.sends.size() > common ? edge.sends[common] : edge.receives[common];
  report.add(alone, world.instruction(alone),
             text("expects a partner on the edge from rank ", source,
                  " to rank ", target, "; got ", edge.sends.size(),
                  " sends and ", edge.receives.size(), " receives in the ",
                  sectionName(section)));
}

void Matcher::matchGroup(const GroupInstance &instance) {
  const auto longest = std::max_element(
      instance.begin(), instance.end(),
      [](const auto &a, const auto &b) { return a.size() < b.size(); });
  for (size_t k = 0; k < longest->size(); ++k) {
    const InstructionRef &first = (*longest)[k];
    Rendezvous rendezvous;
    for (const std::vector<InstructionRef> &member : instance) {
      if (k >= member.size())
        continue;
      rendezvous.push_back(member[k]);
      if (member[k].rank != first.rank)
        compare(first, member[k]);
    }
    if (rendezvous.size() < instance.size())
      return report.add(first, world.instruction(first),
                        text("expects all ", instance.size(),
                             " members of the group; got ", rendezvous.size(),
                             ", as the other ranks have fewer collectives in "
                             "the ",
                             sectionName(section)));
    matched.push_back(std::move(rendezvous));
  }
}

void Matcher::match() {
  for (uint32_t rank = 0; rank < world.mesh.worldSize(); ++rank)
    collect(rank);
  for (const auto &[ends, edge] : edges)
    matchEdge(ends.first, ends.second, edge);
  for (const auto &[key, instance] : instances)
    matchGroup(instance);
}

std::vector<Rendezvous> checks::matchCommunication(const World &world,
                                                   Report &report) {
  std::vector<Rendezvous> matched;
  for (Section section : kSections)
    Matcher(world, section, report, matched).match();
  return matched;
}
