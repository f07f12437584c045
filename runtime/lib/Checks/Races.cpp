//===- Races.cpp - is every pair of conflicting accesses ordered? ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a sound structure. Two accesses of one rank conflict if they share a byte
// and one of them writes. Out: a finding for each access that conflicts with an
// earlier one which neither queue order nor waits put before it.
//
// Handles one queue after the other, so that memory is linear in the program
// for any number of queues. Instructions are visited in an order that respects
// queues and waits, each with the number of the queue's instructions that have
// surely completed when it starts: an earlier access of the queue is ordered if
// it is among them. All bodies are alike: one represents them all. The deadlock
// check handles instructions on a cycle of waits. A program's findings hold for
// all of its ranks.
//
//===----------------------------------------------------------------------===//
#include "ListAccesses.h"
#include "Passes.h"
#include "QueueAccesses.h"
#include "Sections.h"

#include <algorithm>
#include <map>

using namespace pprt;
using namespace pprt::checks;

namespace {

/// The arena of one program, cut at the ends of its slots.
class Memory {
public:
  explicit Memory(const ppx::ProgramT &program)
      : copies(program), bounds(findBounds()) {
    for (uint32_t number = 0; number < copies.size(); ++number)
      ranges.push_back(
          {segmentAt(copies.offset(number)),
           segmentAt(copies.offset(number) + copies[number].bytes)});
  }

  size_t segmentCount() const { return bounds.size(); }
  SegmentRange segmentsOf(const SlotAccess &access) const {
    return ranges[copies.number(access.slot, access.copy)];
  }

private:
  std::vector<uint64_t> findBounds() const {
    std::vector<uint64_t> bounds;
    for (uint32_t number = 0; number < copies.size(); ++number) {
      bounds.push_back(copies.offset(number));
      bounds.push_back(copies.offset(number) + copies[number].bytes);
    }
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    return bounds;
  }
  size_t segmentAt(uint64_t byte) const {
    return size_t(std::lower_bound(bounds.begin(), bounds.end(), byte) -
                  bounds.begin());
  }

  const SlotCopies copies;
  std::vector<uint64_t> bounds;     ///< segment i is [bounds[i], bounds[i + 1])
  std::vector<SegmentRange> ranges; ///< by copy
};

/// Checks one section of one program.
class SectionRaces {
public:
  SectionRaces(const Ranks &ranks, uint32_t program, Section section,
               const Memory &memory, FindingList &report);

  void check();

private:
  /// Bytes that an instruction touches.
  struct Access {
    SegmentRange range;
    uint32_t slot;
    bool reads, writes;
  };
  /// An earlier access that is not ordered before a later one.
  struct Race {
    uint32_t earlier;
    bool earlierWrites;
  };

  void checkAgainst(uint32_t queue);
  void countCompleted(uint32_t index, uint32_t queue);
  void note(size_t position, size_t access, Race race);
  void reportRace(uint32_t index, const Access &access, Race race);
  InstructionRef refTo(uint32_t index) const {
    return {program.ranks.front(), section, index};
  }

  const ppx::ArtifactT &artifact;
  const ppx::ProgramT &program;
  const Section section;
  const InstructionList &list;
  const QueueOrder order;
  const Memory &memory;
  FindingList &report;

  std::vector<uint32_t> visits; ///< instructions, each after those it waits for
  /// Instruction visits[i] has accesses[first[i] .. first[i + 1]).
  std::vector<Access> accesses;
  std::vector<size_t> first = {0};
  QueueAccesses ofQueue; ///< the current one
  /// Per instruction: how many of the queue's instructions have surely
  /// completed when it starts.
  std::vector<uint32_t> completed;
  /// The first few, by the position in `visits` and the access.
  std::map<std::pair<size_t, size_t>, Race> races;
};

} // namespace

SectionRaces::SectionRaces(const Ranks &ranks, uint32_t number, Section section,
                           const Memory &memory, FindingList &report)
    : artifact(ranks.artifact), program(*artifact.programs[number]),
      section(section), list(ranks.instructionsOf(number, section)),
      order(list, program.queues.size()), memory(memory), report(report),
      ofQueue(memory.segmentCount()) {
  ListAccesses found(artifact, list);
  visits.reserve(list.size());
  first.reserve(list.size() + 1);
  report.work(visitInOrder(list, order, [&](uint32_t index) {
    visits.push_back(index);
    for (const SlotAccess &access : found.of(index))
      if (const SegmentRange range = memory.segmentsOf(access);
          range.begin < range.end)
        accesses.push_back({range, access.slot, access.reads, access.writes});
    first.push_back(accesses.size());
  }));
}

void SectionRaces::reportRace(uint32_t index, const Access &access, Race race) {
  // Name of the shared bytes on the other side.
  std::string otherSlot;
  for (const SlotAccess &theirs : accessesOf(artifact, list[race.earlier])) {
    const SegmentRange r = memory.segmentsOf(theirs);
    if ((race.earlierWrites ? theirs.writes : theirs.reads) &&
        r.begin < access.range.end && access.range.begin < r.end)
      otherSlot = program.slots[theirs.slot]->name;
  }
  report.add(refTo(index), list[index],
             text(access.writes ? "writes '" : "reads '",
                  program.slots[access.slot]->name, "' in queue '",
                  program.queues[list[index]->queue]->name,
                  "'; expects to be ordered with ",
                  describe(refTo(race.earlier), list[race.earlier]), ", which ",
                  race.earlierWrites ? "writes '" : "reads '", otherSlot,
                  "' in queue '",
                  program.queues[list[race.earlier]->queue]->name,
                  "', got no wait between them"));
}

void SectionRaces::note(size_t position, size_t access, Race race) {
  Race &noted = races.try_emplace({position, access}, race).first->second;
  if (race.earlierWrites && !noted.earlierWrites)
    noted = race;
  // Only these are reported.
  if (races.size() > FindingList::kMaximumFindings)
    races.erase(std::prev(races.end()));
}

/// An instruction knows its predecessors to be complete, and all they know.
void SectionRaces::countCompleted(uint32_t index, uint32_t queue) {
  uint32_t &mine = completed[index];
  forEachPredecessor(list, order, index, [&](uint32_t before) {
    report.work(1);
    mine = std::max(mine, completed[before]);
    if (list[before]->queue == queue)
      mine = std::max(mine, order.position[before] + 1);
  });
}

void SectionRaces::checkAgainst(uint32_t queue) {
  ofQueue.clear();
  completed.assign(list.size(), 0);
  const std::vector<uint32_t> &theirs = order.instructions[queue];
  for (size_t i = 0; i < visits.size(); ++i) {
    const uint32_t index = visits[i];
    countCompleted(index, queue);
    if (list[index]->queue == queue) {
      for (size_t a = first[i]; a < first[i + 1]; ++a)
        ofQueue.record(accesses[a].range, order.position[index] + 1,
                       accesses[a].reads, accesses[a].writes);
      continue;
    }
    const size_t pending = ofQueue.after(completed[index]);
    if (pending == ofQueue.size())
      continue;
    for (size_t a = first[i]; a < first[i + 1]; ++a) {
      const auto [writer, reader] = ofQueue.latest(accesses[a].range, pending);
      if (writer > completed[index])
        note(i, a, {theirs[writer - 1], /*earlierWrites=*/true});
      else if (accesses[a].writes && reader > completed[index])
        note(i, a, {theirs[reader - 1], /*earlierWrites=*/false});
    }
  }
}

void SectionRaces::check() {
  // A single queue is in order.
  if (order.usedQueues() > 1)
    for (uint32_t queue = 0; queue < order.instructions.size(); ++queue)
      if (!order.instructions[queue].empty())
        checkAgainst(queue);
  report.work(ofQueue.operations());
  for (const auto &[place, race] : races)
    reportRace(visits[place.first], accesses[place.second], race);
}

void checks::checkRaces(const Ranks &ranks, uint32_t program,
                        FindingList &report) {
  const Memory memory(*ranks.artifact.programs[program]);
  report.work(memory.segmentCount());
  for (Section section : kSections)
    SectionRaces(ranks, program, section, memory, report).check();
}
