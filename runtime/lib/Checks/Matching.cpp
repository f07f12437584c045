//===- Matching.cpp - do the two ends of every transfer agree? ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a sound structure, which fixes the comm ops before the run. Out: the comm
// ops of all ranks, and a finding for each whose sides disagree or that lacks a
// side. Sections are matched separately, because a body runs any number of
// times.
//
//===----------------------------------------------------------------------===//
#include "Passes.h"
#include "pprt/CommOps.h"

#include <algorithm>
#include <set>

using namespace pprt;
using namespace pprt::checks;

static bool reduces(const ppx::InstructionT &i) {
  return i.collective == ppx::CollectiveKind_all_reduce ||
         i.collective == ppx::CollectiveKind_reduce_scatter;
}

/// Whether two collectives do the same; fields that their kind does not use do
/// not matter.
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

/// Per member, in member order, its instructions at one place; only those of
/// the first member of each class.
using Sequences = std::vector<std::vector<InstructionRef>>;

/// Matches one section of all ranks, represented by their speakers.
class Matcher {
public:
  Matcher(const Ranks &ranks, const RankClasses &classes, Section section,
          FindingList &report, std::vector<Rendezvous> &matched)
      : ranks(ranks), classes(classes), section(section), report(report),
        matched(matched) {}

  void match();

private:
  void matchEdge(const CommPlace &edge, const Sequences &sequences);
  void matchGroup(const Sequences &instance);
  bool agree(const InstructionRef &a, const InstructionRef &b) const;
  void compare(const InstructionRef &a, const InstructionRef &b);
  std::string terms(const InstructionRef &ref) const;

  const Ranks &ranks;
  const RankClasses &classes;
  const Section section;
  FindingList &report;
  std::vector<Rendezvous> &matched;
};

} // namespace

/// Compares the part of training and the tensors; between stages also the
/// stage, since a transfer is named after the stage that computed it.
bool Matcher::agree(const InstructionRef &a, const InstructionRef &b) const {
  const Instruction x = ranks.instruction(a), y = ranks.instruction(b);
  if (x->phase != y->phase || x.microBatch() != y.microBatch() ||
      x.slotCount() != y.slotCount())
    return false;
  if (x->opcode == ppx::Opcode_collective ? !sameCollective(*x, *y)
                                          : x->stage != y->stage)
    return false;
  for (size_t i = 0; i < x.slotCount(); ++i) {
    const ppx::SlotT &s = x.slot(i), &t = y.slot(i);
    if (s.bytes != t.bytes || s.element != t.element)
      return false;
  }
  return true;
}

/// Describes what agree() compares.
std::string Matcher::terms(const InstructionRef &ref) const {
  const Instruction instruction = ranks.instruction(ref);
  std::string result = actionName(instruction);
  if (instruction->opcode == ppx::Opcode_collective) {
    result += text(" ", ppx::EnumNameCollectiveKind(instruction->collective));
    if (reduces(*instruction))
      result += text(" ", nameOf(instruction->reduction));
    for (uint32_t dimension : instruction->dimensions)
      result += text(" dimension ", dimension);
    for (uint32_t dimension : instruction->split_dimensions)
      result += text(" split ", dimension);
  }
  for (size_t i = 0; i < instruction.slotCount(); ++i) {
    const ppx::SlotT &slot = instruction.slot(i);
    result += text(", ", slot.bytes, " bytes ",
                   ppx::EnumNameElementType(slot.element));
  }
  return result;
}

void Matcher::compare(const InstructionRef &a, const InstructionRef &b) {
  report.work(1 + ranks.instruction(a).slotCount());
  if (!agree(a, b))
    report.add(a, ranks.instruction(a),
               text("expects to meet ", terms(a), "; got ",
                    describe(b, ranks.instruction(b)), " with ", terms(b)));
}

void Matcher::matchEdge(const CommPlace &edge, const Sequences &sequences) {
  const std::vector<InstructionRef> &sends = sequences[0],
                                    &receives = sequences[1];
  const size_t common = std::min(sends.size(), receives.size());
  for (size_t i = 0; i < common; ++i) {
    compare(sends[i], receives[i]);
    matched.push_back({sends[i], receives[i]});
  }
  if (sends.size() == receives.size())
    return;
  const InstructionRef &alone =
      sends.size() > common ? sends[common] : receives[common];
  report.add(alone, ranks.instruction(alone),
             text("expects a partner on the edge from rank ", edge.first,
                  " to rank ", edge.second, "; got ", sends.size(),
                  " sends and ", receives.size(), " receives in the ",
                  sectionName(section)));
}

void Matcher::matchGroup(const Sequences &instance) {
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
      return report.add(first, ranks.instruction(first),
                        text("expects all ", instance.size(),
                             " members of the group; got ", rendezvous.size(),
                             ", as the other ranks have fewer collectives in "
                             "the ",
                             sectionName(section)));
    matched.push_back(std::move(rendezvous));
  }
}

void Matcher::match() {
  const CommOps commOps(ranks, section);
  std::vector<CommPlace> places;
  for (uint32_t rank : classes.speakers()) {
    report.work(ranks.instructions(rank, section).size());
    for (const CommPlace &place : commOps.places({rank, rank + 1}))
      places.push_back(place);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  std::vector<uint32_t> speakerOf(ranks.mesh.worldSize());
  for (uint32_t rank = 0; rank < speakerOf.size(); ++rank)
    speakerOf[rank] = classes.speakerOf(rank);
  // Places where the same classes do the same are represented by the first.
  const std::vector<uint32_t> companies =
      numberCompanies(ranks, commOps, places, speakerOf);
  std::vector<bool> seen(companies.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const CommPlace &place = places[i];
    const std::vector<uint32_t> members = commOps.members(place);
    report.work(members.size());
    if (seen[companies[i]])
      continue;
    seen[companies[i]] = true;
    Sequences sequences;
    std::set<uint32_t> spoken;
    for (uint32_t member = 0; member < members.size(); ++member) {
      const uint32_t speaker = speakerOf[members[member]];
      if (place.isGroup && !spoken.insert(speaker).second)
        continue;
      std::vector<InstructionRef> &sequence = sequences.emplace_back();
      for (uint32_t index : commOps.sequence(place, member, members[member]))
        sequence.push_back({speaker, section, index});
    }
    if (place.isGroup)
      matchGroup(sequences);
    else
      matchEdge(place, sequences);
  }
}

std::vector<Rendezvous> checks::matchCommunication(const Ranks &ranks,
                                                   const RankClasses &classes,
                                                   FindingList &report) {
  std::vector<Rendezvous> matched;
  for (Section section : kSections)
    Matcher(ranks, classes, section, report, matched).match();
  return matched;
}
