//===- Races.cpp - is every pair of conflicting accesses ordered? ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a sound structure. Two accesses of one rank conflict if they share a byte
// and one of them writes. Out: a finding for each access that conflicts with
// an earlier one that neither queue order nor waits put before it.
//
// Visits instructions in an order that respects queues and waits. A vector
// clock tells, per queue, how many of its instructions have surely completed
// when an instruction starts; an earlier access is ordered if its clock is
// among them. All bodies are alike: one stands for all of them. Instructions on
// a cycle of waits are left to the deadlock check. What holds for a program
// holds for all of its ranks.
//
//===----------------------------------------------------------------------===//
#include "ClockTree.h"
#include "Passes.h"
#include "Sections.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::checks;

namespace {

/// The arena of one program, cut at the ends of its slots.
class Memory {
public:
  explicit Memory(const ppx::ProgramT &program)
      : program(program), bounds(slotBounds(program)) {}

  size_t segmentCount() const { return bounds.size(); }
  SegmentRange segmentsOf(uint32_t slot) const {
    const ppx::SlotT &s = *program.slots[slot];
    return {segmentAt(s.offset), segmentAt(s.offset + s.bytes)};
  }

private:
  static std::vector<uint64_t> slotBounds(const ppx::ProgramT &program) {
    std::vector<uint64_t> bounds;
    for (const auto &slot : program.slots) {
      bounds.push_back(slot->offset);
      bounds.push_back(slot->offset + slot->bytes);
    }
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    return bounds;
  }
  size_t segmentAt(uint64_t byte) const {
    return size_t(std::lower_bound(bounds.begin(), bounds.end(), byte) -
                  bounds.begin());
  }

  const ppx::ProgramT &program;
  std::vector<uint64_t> bounds; ///< segment i is [bounds[i], bounds[i + 1])
};

/// Checks one section of one program.
class SectionRaces {
public:
  SectionRaces(const ppx::ArtifactT &artifact, const ppx::ProgramT &program,
               Section section, const Memory &memory, Report &report)
      : artifact(artifact), program(program), section(section),
        list(instructionsOf(program, section)),
        order(list, program.queues.size()), queueCount(program.queues.size()),
        memory(memory), report(report),
        reads(memory.segmentCount(), queueCount),
        writes(memory.segmentCount(), queueCount),
        clocks(list.size() * queueCount) {}

  void check();

private:
  void visit(uint32_t index);
  void joinClock(uint32_t index, uint32_t before);
  void checkAccess(uint32_t index, const SlotAccess &access);
  void reportRace(uint32_t index, const SlotAccess &access, Event earlier,
                  bool earlierWrites);
  InstructionRef refTo(uint32_t index) const {
    return {program.ranks.front(), section, index};
  }

  const ppx::ArtifactT &artifact;
  const ppx::ProgramT &program;
  const Section section;
  const InstructionList &list;
  const QueueOrder order;
  const size_t queueCount;
  const Memory &memory;
  Report &report;
  ClockTree reads, writes;
  /// Per instruction and queue: how many of the queue's instructions have
  /// surely completed when the instruction starts.
  std::vector<uint32_t> clocks;
};

} // namespace

/// `index` starts after `before` has completed: it knows of it, and of all that
/// `before` knew.
void SectionRaces::joinClock(uint32_t index, uint32_t before) {
  report.work(queueCount);
  uint32_t *now = &clocks[index * queueCount];
  const uint32_t *known = &clocks[before * queueCount];
  for (size_t queue = 0; queue < queueCount; ++queue)
    now[queue] = std::max(now[queue], known[queue]);
  uint32_t &its = now[list[before]->queue];
  its = std::max(its, order.position[before] + 1);
}

void SectionRaces::reportRace(uint32_t index, const SlotAccess &access,
                              Event earlier, bool earlierWrites) {
  const uint32_t other = order.instructions[earlier.queue][earlier.clock - 1];
  const SegmentRange range = memory.segmentsOf(access.slot);
  // The other side's name for the shared bytes.
  std::string otherSlot;
  for (const SlotAccess &theirs : accessesOf(artifact, *list[other])) {
    const SegmentRange r = memory.segmentsOf(theirs.slot);
    if ((earlierWrites ? theirs.writes : theirs.reads) && r.begin < range.end &&
        range.begin < r.end)
      otherSlot = program.slots[theirs.slot]->name;
  }
  report.add(refTo(index), *list[index],
             text(access.writes ? "writes '" : "reads '",
                  program.slots[access.slot]->name, "' in queue '",
                  program.queues[list[index]->queue]->name,
                  "'; expects to be ordered with ",
                  describe(refTo(other), *list[other]), ", which ",
                  earlierWrites ? "writes '" : "reads '", otherSlot,
                  "' in queue '", program.queues[earlier.queue]->name,
                  "', got no wait between them"));
}

void SectionRaces::checkAccess(uint32_t index, const SlotAccess &access) {
  const SegmentRange range = memory.segmentsOf(access.slot);
  if (range.begin == range.end)
    return;
  const uint32_t *now = &clocks[index * queueCount];
  if (auto earlier = writes.findUnordered(range, now))
    reportRace(index, access, *earlier, /*earlierWrites=*/true);
  else if (access.writes)
    if (auto reader = reads.findUnordered(range, now))
      reportRace(index, access, *reader, /*earlierWrites=*/false);
}

/// All predecessors of the instruction have been visited.
void SectionRaces::visit(uint32_t index) {
  const ppx::InstructionT &instruction = *list[index];
  const uint32_t position = order.position[index];
  const std::vector<uint32_t> &own = order.instructions[instruction.queue];
  if (position > 0)
    joinClock(index, own[position - 1]);
  for (const ppx::Wait &wait : instruction.waits)
    joinClock(index, order.instructions[wait.queue()][wait.count() - 1]);

  // Checked before any is noted: an instruction does not race with itself.
  const std::vector<SlotAccess> accesses = accessesOf(artifact, instruction);
  for (const SlotAccess &access : accesses)
    checkAccess(index, access);
  for (const SlotAccess &access : accesses) {
    const SegmentRange range = memory.segmentsOf(access.slot);
    if (range.begin == range.end)
      continue;
    const Event event = {instruction.queue, position + 1};
    if (access.reads)
      reads.record(range, event);
    if (access.writes)
      writes.record(range, event);
  }
}

void SectionRaces::check() {
  report.work(visitInOrder(list, order, [&](uint32_t i) { visit(i); }));
  report.work(reads.operations() + writes.operations());
}

void checks::checkRaces(const Ranks &ranks, Report &report) {
  for (size_t i = 0; i < ranks.artifact.programs.size(); ++i) {
    const Memory memory(*ranks.artifact.programs[i]);
    report.work(memory.segmentCount());
    for (Section section : kSections)
      SectionRaces(ranks.artifact, *ranks.artifact.programs[i], section, memory,
                   report)
          .check();
  }
}
