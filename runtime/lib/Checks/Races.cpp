//===- Races.cpp - is every pair of conflicting accesses ordered? ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a sound structure. Two accesses of one rank conflict if they share a byte
// and one of them writes. Out: a finding for each access that conflicts with an
// earlier one which neither queue order nor waits put before it.
//
// Instructions are visited in an order that respects queues and waits, each
// with the number of every queue's instructions that have surely completed when
// it starts: an earlier access of a queue is ordered if it is among them. A few
// queues are handled at a time, so that memory is linear in the program for any
// number of queues. All bodies are alike: one represents them all. The deadlock
// check handles instructions on a cycle of waits. A program's findings hold for
// all of its ranks.
//
//===----------------------------------------------------------------------===//
#include "../ListAccesses.h"
#include "Passes.h"
#include "Places.h"
#include "QueueAccesses.h"
#include "Sections.h"

#include <algorithm>
#include <array>
#include <map>

using namespace pprt;
using namespace pprt::checks;

namespace {

/// The arena of one program, cut at the ends of its slots.
class Memory {
public:
  explicit Memory(const Places &places) : places(places), bounds(findBounds()) {
    for (uint32_t place = 0; place < places.size(); ++place)
      ranges.push_back(
          {segmentAt(places[place].begin), segmentAt(places[place].end)});
  }

  size_t segmentCount() const { return bounds.size(); }
  SegmentRange segmentsOf(const SlotAccess &access) const {
    return ranges[places.of(places.copies.number(access.slot, access.copy))];
  }

private:
  std::vector<uint64_t> findBounds() const {
    std::vector<uint64_t> bounds;
    for (uint32_t place = 0; place < places.size(); ++place) {
      bounds.push_back(places[place].begin);
      bounds.push_back(places[place].end);
    }
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    return bounds;
  }
  size_t segmentAt(uint64_t byte) const {
    return size_t(std::lower_bound(bounds.begin(), bounds.end(), byte) -
                  bounds.begin());
  }

  const Places &places;
  std::vector<uint64_t> bounds;     ///< segment i is [bounds[i], bounds[i + 1])
  std::vector<SegmentRange> ranges; ///< by place
};

/// Checks one section of one program.
class SectionRaces {
public:
  SectionRaces(const Ranks &ranks, uint32_t program, Section section,
               const Memory &memory, FindingList &report);

  void check();

private:
  /// An earlier access that is not ordered before a later one.
  struct Race {
    uint32_t earlier;
    bool earlierWrites;
  };

  static constexpr size_t kTogether = 8; ///< queues
  /// By queue of those handled together, how many of its instructions have
  /// surely completed when an instruction starts.
  using Clocks = std::array<uint32_t, kTogether>;

  void checkAgainstThese();
  const Clocks &countCompleted(uint32_t index);
  void checkAccesses(size_t visit, const std::vector<SlotAccess> &accesses,
                     size_t which, uint32_t completed);
  void note(size_t position, size_t access, Race race);
  void reportRace(uint32_t index, const SlotAccess &access, Race race);
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

  ListAccesses accesses;
  std::vector<uint32_t> visits; ///< instructions, each after those it waits for
  // Of the queues that are handled now:
  std::vector<uint32_t> together;
  std::vector<QueueAccesses> ofQueue;
  std::vector<size_t> placeOf;       ///< by queue, kTogether for others
  std::vector<Clocks> completed;     ///< by instruction
  std::vector<SegmentRange> touched; ///< by the current instruction's accesses
  /// The first few, by the position in `visits` and the access.
  std::map<std::pair<size_t, size_t>, Race> races;
};

} // namespace

SectionRaces::SectionRaces(const Ranks &ranks, uint32_t number, Section section,
                           const Memory &memory, FindingList &report)
    : artifact(ranks.artifact), program(*artifact.programs[number]),
      section(section), list(ranks.instructionsOf(number, section)),
      order(list, program.queues.size()), memory(memory), report(report),
      accesses(artifact, list), ofQueue(std::min(kTogether, order.usedQueues()),
                                        QueueAccesses(memory.segmentCount())),
      placeOf(program.queues.size(), kTogether) {
  visits.reserve(list.size());
  report.work(visitInOrder(list, order,
                           [&](uint32_t index) { visits.push_back(index); }));
}

void SectionRaces::reportRace(uint32_t index, const SlotAccess &access,
                              Race race) {
  const SegmentRange range = memory.segmentsOf(access);
  // Name of the shared bytes on the other side.
  std::string otherSlot;
  for (const SlotAccess &theirs : accessesOf(artifact, list[race.earlier])) {
    const SegmentRange r = memory.segmentsOf(theirs);
    if ((race.earlierWrites ? theirs.writes : theirs.reads) &&
        r.begin < range.end && range.begin < r.end)
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
const SectionRaces::Clocks &SectionRaces::countCompleted(uint32_t index) {
  Clocks &mine = completed[index];
  forEachPredecessor(list, order, index, [&](uint32_t before) {
    report.work(1);
    for (size_t i = 0; i < kTogether; ++i)
      mine[i] = std::max(mine[i], completed[before][i]);
    if (const size_t place = placeOf[order.queueOf[before]]; place < kTogether)
      mine[place] = std::max(mine[place], order.position[before] + 1);
  });
  return mine;
}

/// Checks the accesses of an instruction, to `touched`, against those of
/// another queue.
void SectionRaces::checkAccesses(size_t visit,
                                 const std::vector<SlotAccess> &accesses,
                                 size_t which, uint32_t completed) {
  QueueAccesses &its = ofQueue[which];
  const std::vector<uint32_t> &theirs = order.instructions[together[which]];
  const size_t pending = its.after(completed);
  if (pending == its.size())
    return;
  for (size_t a = 0; a < accesses.size(); ++a) {
    const SegmentRange range = touched[a];
    if (range.begin == range.end)
      continue;
    const auto [writer, reader] = its.latest(range, pending);
    if (writer > completed)
      note(visit, a, {theirs[writer - 1], /*earlierWrites=*/true});
    else if (accesses[a].writes && reader > completed)
      note(visit, a, {theirs[reader - 1], /*earlierWrites=*/false});
  }
}

/// Checks all accesses against those of `together`.
void SectionRaces::checkAgainstThese() {
  for (QueueAccesses &its : ofQueue)
    its.clear();
  completed.assign(list.size(), {});
  for (size_t i = 0; i < visits.size(); ++i) {
    const uint32_t index = visits[i];
    const Clocks &clocks = countCompleted(index);
    const std::vector<SlotAccess> &its = accesses.of(index);
    touched.clear();
    for (const SlotAccess &access : its)
      touched.push_back(memory.segmentsOf(access));
    const size_t mine = placeOf[order.queueOf[index]];
    for (size_t which = 0; which < together.size(); ++which)
      if (which != mine)
        checkAccesses(i, its, which, clocks[which]);
    if (mine == kTogether)
      continue;
    for (size_t a = 0; a < its.size(); ++a)
      if (touched[a].begin < touched[a].end)
        ofQueue[mine].record(touched[a], order.position[index] + 1,
                             its[a].reads, its[a].writes);
  }
}

void SectionRaces::check() {
  std::vector<uint32_t> used;
  for (uint32_t queue = 0; queue < order.instructions.size(); ++queue)
    if (!order.instructions[queue].empty())
      used.push_back(queue);
  // A single queue is in order.
  for (size_t begin = 0; used.size() > 1 && begin < used.size();
       begin += kTogether) {
    const size_t end = std::min(begin + kTogether, used.size());
    together.assign(used.begin() + ptrdiff_t(begin),
                    used.begin() + ptrdiff_t(end));
    placeOf.assign(placeOf.size(), kTogether);
    for (size_t place = 0; place < together.size(); ++place)
      placeOf[together[place]] = place;
    checkAgainstThese();
  }
  for (const QueueAccesses &its : ofQueue)
    report.work(its.operations());
  for (const auto &[place, race] : races)
    reportRace(visits[place.first],
               accesses.of(visits[place.first])[place.second], race);
}

void checks::checkRaces(const Ranks &ranks, uint32_t program,
                        const Places &places, FindingList &report) {
  const Memory memory(places);
  report.work(memory.segmentCount());
  for (Section section : kSections)
    SectionRaces(ranks, program, section, memory, report).check();
}
