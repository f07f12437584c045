//===- Communicators.h - NCCL's, for groups of ranks ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a world, the GPU of each rank of this process, and lists of ranks that
// meet. Out: an NCCL communicator for each rank and list. The world's is made
// from an id that process 0 creates, all others are split from it, in an order
// that is the same in all processes.
//
// All communicators are nonblocking, because only such can be aborted at any
// time: operations are polled until they are done or one has failed. The first
// failure is kept, and ends all waits of the host at once. Waits of streams end
// when the rank's communicators are aborted; its graphs must be destroyed by
// then, since NCCL waits until no graph holds a call of it.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_COMMUNICATORS_H
#define PPRT_BACKENDS_CUDA_COMMUNICATORS_H

#include "Gpu.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>

namespace pprt {
class World;
}

namespace pprt::cuda {

/// NCCL calls that a GPU has room for at a time, beside kernels that end by
/// themselves: each is kept to its share of the multiprocessors.
constexpr uint32_t kCallsAtOnce = 3;

/// Ranks in member order.
using MemberList = std::vector<uint32_t>;

class Communicators {
public:
  /// Makes communicators for the ranks of this process, of `worldSize`.
  /// Collective; fails in all processes alike.
  static Expected<std::unique_ptr<Communicators>>
  create(World &world, uint32_t worldSize,
         std::map<uint32_t, std::shared_ptr<const Gpu>> gpus, Nccl nccl);
  /// Waits for the streams' operations, unless something has failed.
  ~Communicators();

  /// Called while the host waits: returns failures elsewhere. From any thread.
  std::function<Status()> listen;

  /// Limits how long run() may wait for other ranks, to which NCCL connects at
  /// the first call: 0 for ever. Must precede run().
  void limit(double seconds, std::function<bool()> isInterrupted) {
    patience = seconds;
    this->isInterrupted = std::move(isInterrupted);
  }

  /// Makes the communicators of `lists`, which have several ranks each, with
  /// ranks of this process as members. Once; collective as above.
  Status connect(World &world, std::vector<MemberList> lists);

  /// Fails in all processes, and aborts all ranks, if one of them has failed.
  Status agree(World &world, const Status &mine);

  /// Returns the communicator of a rank of this process for a connected list;
  /// the world's for an empty one.
  struct Communicator;
  Communicator *find(uint32_t rank, const MemberList &list);

  /// Enqueues the NCCL calls that `calls` makes as one group; they are in the
  /// streams when this returns. From one thread at a time for each rank. Fails
  /// (hang, interrupted) if other ranks do not come.
  Status run(Communicator &communicator,
             const std::function<Status(ncclComm_t)> &calls);

  /// Returns the first failure, including those between calls. From any thread.
  Status poll();
  /// Ends waits of hosts. From any thread.
  void fail(const Status &status);
  /// After a failure: ends waits of a rank's streams.
  void abort(uint32_t rank);

  /// Adds the free memory of the current GPU if CUDA refused NCCL something.
  Status check(ncclResult_t result, const char *call) const;

  const Nccl nccl;
  const std::map<uint32_t, std::shared_ptr<const Gpu>> gpus; ///< by rank

private:
  Communicators(std::map<uint32_t, std::shared_ptr<const Gpu>> gpus, Nccl nccl);

  /// Makes calls for all ranks of this process, as one group.
  Status makeTogether(const std::function<Status(uint32_t rank)> &calls);
  /// Fails if a wait of `seconds` should end.
  Status isLate(double seconds) const;
  /// Polls until nothing is in progress.
  Status settle(Communicator &communicator);
  /// The same for all, within a time limit: they are being made.
  Status settleAll();
  void abortAll();
  Status split(World &world, const std::vector<MemberList> &lists);
  ncclConfig_t makeConfig() const;

  std::map<std::pair<uint32_t, MemberList>, std::unique_ptr<Communicator>> all;
  int mostBlocks = 1;  ///< per call; for all GPUs, which are of one model
  bool isMade = false; ///< whether all are made
  double patience = 0; ///< in seconds; 0: for ever
  std::function<bool()> isInterrupted;
  std::atomic<bool> hasFailed = false;
  std::mutex mutex; ///< guards what follows
  Status failure;
};

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_COMMUNICATORS_H
