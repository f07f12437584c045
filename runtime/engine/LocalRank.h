//===- LocalRank.h - a rank of this process -----------------------*- C++ -*-//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a rank's program, and a device. Out: the rank's objects on it, for either
// executor: an arena with message staging behind it, rows of scalars, tasks
// with addresses, and its part in comm ops.
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_LOCALRANK_H
#define PPRT_ENGINE_LOCALRANK_H

#include "Task.h"
#include "pprt/Mesh.h"

namespace pprt {

/// Staging of a rank's messages in transit: one area for each of its queues,
/// behind the arena of its program, sized by the largest of the queue's
/// operations, which run one after another.
struct Staging {
  std::vector<uint64_t> offsets; ///< by queue, from the arena's begin
  uint64_t end = 0;              ///< of arena and areas
};

/// Lays out staging by rank of the range, from the model of the transport: the
/// memory of a rank is known before a run, and without the transport.
std::vector<Staging> layOutStaging(const Ranks &programs, RankRange range,
                                   const TransportModel &model);

struct LocalRank {
  LocalRank(uint32_t index, const Mesh &mesh, const ppx::ProgramT &program,
            Staging staging);
  virtual ~LocalRank() = default;

  /// Fails with the rank's name and the bytes it needs.
  Status allocate(Device &device);
  Task makeTask(const Instruction &instruction, const Kernels &kernels,
                Device &device) const {
    return Task(instruction, arena->address(), scalars, kernels, device);
  }
  /// Adds this rank's data as `member` to the data that all members share.
  Participant take(Participant participant, uint32_t member,
                   const Task &task) const;

  // These fail (device) if a copy does, and do nothing on a device that keeps
  // no values.
  /// Calls `visit` on a slot's bytes.
  Status readSlot(uint32_t slot,
                  const std::function<void(const std::byte *)> &visit) const;
  /// Calls `fill` to write all of a slot's bytes.
  Status writeSlot(uint32_t slot, const std::function<void(std::byte *)> &fill);
  /// Peak of the arena and the heap together.
  uint64_t peakBytes() const;

  const uint32_t index;
  const ppx::ProgramT &program;
  const Staging staging;
  ScalarRows scalars;
  std::shared_ptr<Memory> arena; ///< with the staging behind it
  AllocationCounter allocations; ///< by its threads, while they run sections
  /// times[section][instruction], of the last run of the section.
  std::vector<InstructionTime> times[kSections.size()];
};

/// Makes each rank of the range.
template <typename Rank>
Expected<std::vector<std::unique_ptr<Rank>>>
makeRanks(const Ranks &programs, RankRange range, const TransportModel &model,
          Device &device) {
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<Staging> staging = layOutStaging(programs, range, model);
  for (uint32_t index = range.begin; index < range.end; ++index) {
    ranks.push_back(
        std::make_unique<Rank>(index, programs.mesh, programs.program(index),
                               std::move(staging[index - range.begin])));
    if (Status status = ranks.back()->allocate(device); !status.ok())
      return status;
  }
  return ranks;
}

} // namespace pprt

#endif // PPRT_ENGINE_LOCALRANK_H
