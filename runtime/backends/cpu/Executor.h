//===- Executor.h - runs a program on the threads of one process -*- C++ -*-==//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a checked artifact, and the ranks of it that are this process's. Out: its
// sections, run by one thread per rank, or the first cause of a failure, after
// which all ranks have been told to stop. A side thread watches for progress
// and reports who waits on whom if there is none.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_EXECUTOR_H
#define PPRT_BACKENDS_CPU_EXECUTOR_H

#include "../../engine/Thread.h"
#include "Matching.h"
#include "pprt/Execution.h"

#include <condition_variable>
#include <mutex>

namespace pprt::cpu {

struct ExecutorOptions {
  KernelResolver resolver;
  unsigned threadsPerRank = 1;
  bool spin = false; ///< when no two threads share a core
  double hangTimeoutSeconds = 30;
  /// Those of this process; if empty, all.
  std::optional<RankRange> ranks;
  /// How ranks meet, to be connected before the first section is run; if empty,
  /// as threads of one process.
  std::shared_ptr<Transport> transport;
};

class Executor {
public:
  /// Fails (device) if the system refuses a thread.
  static Expected<std::unique_ptr<Executor>>
  create(std::shared_ptr<const ppx::ArtifactT> artifact, const Mesh &mesh,
         const ExecutorOptions &options, std::shared_ptr<HostData> host);
  ~Executor();

  /// Runs one section on all ranks. After a failure every call returns it, the
  /// first once all ranks have left the section, or soon even if they do not.
  Status run(Section section, int64_t step);
  /// Whether a rank did not leave the section that failed. Its thread may still
  /// write to arenas, times and the host: nobody may look at them, and what it
  /// uses stays until the process ends, which has to be at once.
  bool isStuck() const { return stuck; }

  /// Of this process.
  Rank &rank(uint32_t index) {
    return *state->ranks[index - state->range.begin];
  }
  std::byte *slot(uint32_t rank, uint32_t slot);

private:
  /// Shared with the threads: it stays as long as one of them runs.
  struct State {
    std::shared_ptr<const ppx::ArtifactT> artifact;
    std::shared_ptr<HostData> host;
    ExecutorOptions options;
    std::vector<ResolvedKernel> kernels;
    RankRange range;
    std::vector<std::unique_ptr<Rank>> ranks; ///< of the range
    MeetingList meetings;
    std::shared_ptr<Transport> transport;

    std::mutex mutex;
    std::condition_variable changed;
    // Under the mutex.
    uint64_t command = 0; ///< counts the sections started
    Section section = Section::setup;
    int64_t step = 0;
    size_t running = 0; ///< ranks that have not finished the command
    bool quit = false;
    Status failure;

    struct Flag final : Cancellation {
      std::atomic<bool> isSet{false};
      bool isRequested() const override {
        return isSet.load(std::memory_order_relaxed);
      }
    } cancellation;

    void fail(const Status &status);
    uint64_t progress() const;
  };

  static void rankThread(std::shared_ptr<State> state, uint32_t index);
  static void watchdogThread(std::shared_ptr<State> state);

  std::shared_ptr<State> state;
  std::vector<Thread> threads;
  bool stuck = false;
};

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_EXECUTOR_H
