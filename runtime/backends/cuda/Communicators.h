//===- Communicators.h - who meets by NCCL ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a world, the GPU of each rank of this process, and lists of ranks that
// meet. Out: a communicator of NCCL for each rank and list: that of the world
// from an id which process 0 makes, all others by split from it, in an order
// that is the same in all processes.
//
// None of them blocks, for only such can be aborted whatever they do: what is
// in progress is asked about until it is done or somebody has failed. The first
// failure is kept, and ends all waits of the host at once. Those of streams end
// when the rank's communicators are aborted, and its graphs are to be gone
// by then, since NCCL waits until none holds a call of it.
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

/// So many calls of NCCL a GPU has room for at a time, beside kernels that end
/// by themselves: each is kept to its share of the multiprocessors.
constexpr uint32_t kCallsAtOnce = 3;

/// Ranks in the order in which they are members.
using MemberList = std::vector<uint32_t>;

class Communicators {
public:
  /// For the ranks of this process, of `worldSize`. Collective; fails in all
  /// processes alike.
  static Expected<std::unique_ptr<Communicators>>
  create(World &world, uint32_t worldSize,
         std::map<uint32_t, std::shared_ptr<const Gpu>> gpus, Nccl nccl);
  /// Waits for what streams were given, unless something has failed.
  ~Communicators();

  /// Asked while the host waits: what has failed elsewhere. From any thread.
  std::function<Status()> listen;

  /// How long run() may wait for others, whom NCCL looks for when they meet
  /// first: 0 for ever. Before run() is called.
  void limit(double seconds, std::function<bool()> isInterrupted) {
    patience = seconds;
    this->isInterrupted = std::move(isInterrupted);
  }

  /// Makes those of `lists`, which are of several ranks, in which ranks of this
  /// process are members. Once; collective as above.
  Status connect(World &world, std::vector<MemberList> lists);

  /// Fails in all processes, and aborts all ranks, if one of them has failed.
  Status agree(World &world, const Status &mine);

  /// Of a rank of this process: that of a list that was connected; of an empty
  /// one that of the world.
  struct Communicator;
  Communicator *find(uint32_t rank, const MemberList &list);

  /// Gives streams the calls of NCCL that `calls` makes, as one group. They are
  /// there when this returns. From one thread at a time for each rank. Fails
  /// (hang, interrupted) where others do not come.
  Status run(Communicator &communicator,
             const std::function<Status(ncclComm_t)> &calls);

  /// The first failure, also one that came while nobody asked. From any thread.
  Status poll();
  /// Ends what hosts wait for. From any thread.
  void fail(const Status &status);
  /// After a failure: ends what streams of a rank wait for.
  void abort(uint32_t rank);

  /// With what is free on the current GPU, if CUDA refused NCCL something.
  Status check(ncclResult_t result, const char *call) const;

  const Nccl nccl;
  const std::map<uint32_t, std::shared_ptr<const Gpu>> gpus; ///< by rank

private:
  Communicators(std::map<uint32_t, std::shared_ptr<const Gpu>> gpus, Nccl nccl);

  /// Calls for all ranks of this process, as one group.
  Status makeTogether(const std::function<Status(uint32_t rank)> &calls);
  /// Whether there is no more waiting for what has taken so long.
  Status isLate(double seconds) const;
  /// Asks until nothing is in progress.
  Status settle(Communicator &communicator);
  /// The same of all, within a limit of time: they are being made.
  Status settleAll();
  void abortAll();
  Status split(World &world, const std::vector<MemberList> &lists);
  ncclConfig_t makeConfig() const;

  std::map<std::pair<uint32_t, MemberList>, std::unique_ptr<Communicator>> all;
  int mostBlocks = 1;  ///< of a call; of all GPUs, which are of one model
  bool isMade = false; ///< all of them
  double patience = 0; ///< in seconds; 0: for ever
  std::function<bool()> isInterrupted;
  std::atomic<bool> hasFailed = false;
  std::mutex mutex; ///< of the next
  Status failure;
};

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_COMMUNICATORS_H
