//===- LocalRank.cpp - a rank of this process -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "LocalRank.h"
#include "CommOpsHere.h"
#include "pprt/Alignment.h"

#include <algorithm>

using namespace pprt;

LocalRank::LocalRank(uint32_t index, const Mesh &mesh,
                     const ppx::ProgramT &program, Staging staging)
    : index(index), program(program), staging(std::move(staging)),
      scalars(mesh.coordinates(index), program) {
  for (Section section : kSections)
    times[size_t(section)].resize(InstructionList(program, section).size());
}

/// Describes the failure of a device to allocate a rank's memory.
static Status refuseMemory(const Status &why, uint32_t rank, uint64_t bytes) {
  const std::string whose = "rank " + std::to_string(rank);
  if (why.code() != ExitCode::outOfMemory)
    return Status(why.code(), whose + ": " + why.message());
  return Status(why.code(), whose + " needs " + std::to_string(bytes) +
                                " bytes of memory: " + why.message() +
                                "; end other processes that use the memory, or "
                                "use a smaller model or batch");
}

Status LocalRank::allocate(Device &device) {
  auto made = device.allocateArena(staging.end);
  if (!made)
    return refuseMemory(made.status(), index, staging.end);
  arena = std::move(*made);
  const Status status = scalars.allocate(device);
  return status.ok() ? status : refuseMemory(status, index, scalars.bytes());
}

Participant LocalRank::take(Participant participant, uint32_t member,
                            const Task &task) const {
  participant.member = member;
  for (size_t i = 0; i < task.arguments.size(); ++i)
    (i < task.inputCount() ? participant.inputs : participant.outputs)
        .push_back(task.arguments[i]);
  participant.staging =
      arena->address() + staging.offsets[task.instruction->queue];
  participant.memory = arena;
  return participant;
}

Status
LocalRank::readSlot(uint32_t slot,
                    const std::function<void(const std::byte *)> &visit) const {
  const ppx::SlotT &its = *program.slots[slot];
  return arena->visit(its.offset, its.bytes, visit);
}

Status LocalRank::writeSlot(uint32_t slot,
                            const std::function<void(std::byte *)> &fill) {
  const ppx::SlotT &its = *program.slots[slot];
  return arena->fill(its.offset, its.bytes, fill);
}

uint64_t LocalRank::peakBytes() const {
  return arena->writtenBytes() +
         uint64_t(std::max<int64_t>(0, allocations.peak));
}

//===----------------------------------------------------------------------===//
// Staging of messages
//===----------------------------------------------------------------------===//

static uint64_t roundUp(uint64_t bytes) {
  return alignUp(bytes, kWorkspaceAlignment);
}

/// Fills needed[rank of the range][queue] for one section.
static void addSection(const Ranks &programs, RankRange range, Section section,
                       const TransportModel &model,
                       std::vector<std::vector<uint64_t>> &needed) {
  const auto add = [&](const CommOpHere &commOp) {
    const std::vector<Move> moves = commOp.moves();
    for (uint32_t member = 0; member < commOp.ranks.size(); ++member) {
      const uint32_t rank = commOp.ranks[member];
      if (!range.contains(rank))
        continue;
      const InstructionList &list = programs.instructions(rank, section);
      uint64_t &bytes =
          needed[rank - range.begin][list[commOp.index(member)]->queue];
      bytes = std::max(bytes, model.stagingBytes(moves, commOp.ranks, member));
    }
    return Status();
  };
  // The code that prepares the comm ops reports a failure.
  (void)forEachCommOp(programs, range, section, add);
}

std::vector<Staging> pprt::layOutStaging(const Ranks &programs, RankRange range,
                                         const TransportModel &model) {
  std::vector<std::vector<uint64_t>> needed;
  for (uint32_t rank = range.begin; rank < range.end; ++rank)
    needed.emplace_back(programs.program(rank).queues.size());
  if (model.stagingBytes)
    for (Section section : kSections)
      addSection(programs, range, section, model, needed);
  std::vector<Staging> result;
  for (uint32_t rank = range.begin; rank < range.end; ++rank) {
    Staging staging;
    staging.end = programs.program(rank).arena_bytes;
    for (uint64_t bytes : needed[rank - range.begin]) {
      staging.offsets.push_back(roundUp(staging.end));
      if (bytes > 0)
        staging.end = staging.offsets.back() + alignUp(bytes, kSlotAlignment);
    }
    result.push_back(std::move(staging));
  }
  return result;
}
