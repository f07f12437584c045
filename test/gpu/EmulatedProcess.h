//===- EmulatedProcess.h - ranks on played GPUs, with comm ops --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a world, and comm ops of its ranks. Out: the ranks of one process, on a
// device each, with memory and two streams, which carry out rounds of the
// comm ops as an executor would: each rank gives its parts to its streams, then
// waits for them, and for failures, of other processes, too.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_PLAYEDPROCESS_H
#define PP_TEST_GPU_PLAYEDPROCESS_H

#include "ConformanceCases.h"
#include "backends/cuda/Collectives.h"

#include <functional>
#include <mutex>

namespace pprt::conformance {

/// What processes tell each other of, as an executor's transport would.
class Failure {
public:
  void set(const Status &status) {
    std::lock_guard guard(mutex);
    if (first.ok())
      first = status;
  }
  Status get() {
    std::lock_guard guard(mutex);
    return first;
  }

private:
  std::mutex mutex;
  Status first;
};

/// The ranks of one process, on a device each, with the cases they are in.
class Process {
public:
  Process(World &world, uint32_t worldSize, const std::vector<Case> &cases,
          Failure &failure)
      : world(world), worldSize(worldSize), cases(cases), failure(failure) {}
  ~Process() { close(); }

  /// Ready for rounds, or the first failure.
  Status open();
  /// A rank's part of a round: the cases of these numbers, in this order.
  Status start(uint32_t rank, uint32_t round, const std::vector<size_t> &order);
  /// Of all ranks, in the order of the table.
  Status start(uint32_t round);
  /// Waits for the ends of all streams, and for failures.
  Status finish();
  /// Whether all that the rank's streams were given has ended.
  bool hasEnded(uint32_t rank) const;
  /// What is wrong after a round.
  std::string check(uint32_t round);
  Status run(uint32_t rounds);
  /// Ends what streams wait for.
  void abort(const Status &status);
  void close();

  /// If set, before open(): puts functions of its own into the tables.
  std::function<void(cuda::Driver &, cuda::Nccl &)> edit;
  std::unique_ptr<cuda::Collectives> collectives;
  /// So many streams of each rank are used.
  size_t streamCount = 2;
  struct Rank {
    std::shared_ptr<cuda::Gpu> gpu;
    CUstream streams[4] = {};
    std::vector<CUdeviceptr> memory;
  };
  struct Membership {
    uint32_t member = 0;
    Ticket ticket = 0;
    std::vector<std::byte *> inputs, outputs;
  };
  std::map<uint32_t, Rank> ranks;
  std::map<std::pair<size_t, uint32_t>, Membership> memberships;

  Status fill(uint32_t round, const Case &test, const Membership &its,
              const cuda::Gpu &gpu, CUstream stream);

private:
  Expected<std::byte *> allocate(Rank &rank, uint64_t bytes);
  Status prepare(size_t index, uint32_t member, Rank &rank);

  World &world;
  const uint32_t worldSize;
  const std::vector<Case> &cases;
  Failure &failure;
};

/// A process for each rank, on a thread each, until all have ended; how they
/// did.
std::vector<Status> runProcesses(uint32_t worldSize,
                                 const std::vector<Case> &cases,
                                 uint32_t rounds);

} // namespace pprt::conformance

#endif // PP_TEST_GPU_PLAYEDPROCESS_H
