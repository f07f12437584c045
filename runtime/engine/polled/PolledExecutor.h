//===- PolledExecutor.h - a thread per rank looks for work ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a checked artifact, the ranks of this process, and their device. Out: its
// sections, run by one thread per rank, or the first cause of a failure, after
// which all ranks have been told to stop. A watchdog thread checks for
// progress; if there is none, in other processes either, it reports which ranks
// wait for which. A rank inside a kernel does not count as waiting.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_POLLED_POLLEDEXECUTOR_H
#define PPRT_ENGINE_POLLED_POLLEDEXECUTOR_H

#include "../CommOpsHere.h"
#include "../Thread.h"
#include "Rank.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace pprt::polled {

class PolledExecutor final : public Executor {
public:
  /// The device must have loaded the artifact; the transport must be connected
  /// before the first section. Fails (device) if the system refuses a thread.
  static Expected<std::unique_ptr<PolledExecutor>>
  create(std::shared_ptr<const ppx::ArtifactT> artifact, const Mesh &mesh,
         std::shared_ptr<PolledDevice> device,
         std::shared_ptr<PolledTransport> transport,
         const ExecutorOptions &options, std::shared_ptr<HostData> host);
  ~PolledExecutor() override;

  Status submit(Section section, int64_t step) override;
  Status wait() override;
  bool hasEnded() override { return true; }
  unsigned stepsAhead() const override { return 1; }
  bool isStuck() const override { return stuck; }
  int64_t timesError(uint32_t, Section) const override { return 0; }
  Rank &rank(uint32_t index) const override {
    return *state->ranks[index - state->options.ranks.begin];
  }

private:
  /// Shared with the threads: it lives as long as one of them runs.
  struct State final : Watched {
    State(std::shared_ptr<const ppx::ArtifactT> artifact, const Mesh &mesh)
        : artifact(std::move(artifact)), mesh(mesh) {}

    const std::shared_ptr<const ppx::ArtifactT> artifact;
    const Mesh mesh;
    ExecutorOptions options;
    std::shared_ptr<HostData> host;
    std::shared_ptr<PolledDevice> device;
    Kernels kernels;
    std::vector<std::unique_ptr<Rank>> ranks; ///< of this process
    std::vector<std::unique_ptr<const CommOp>> commOps;
    std::shared_ptr<PolledTransport> transport;

    std::mutex mutex;
    std::condition_variable changed;
    // Under the mutex.
    uint64_t command = 0; ///< number of sections started
    Section section = Section::setup;
    int64_t step = 0;
    size_t running = 0; ///< ranks that have not finished the command
    bool quit = false;
    Status failure;
    /// State that the watchdog saw last, and since when.
    uint64_t seenCommand = 0, seenProgress = 0;
    std::vector<uint64_t> seenCalls; ///< by rank
    std::chrono::steady_clock::time_point since;

    struct Flag final : Cancellation {
      std::atomic<bool> isSet{false};
      bool isRequested() const override {
        return isSet.load(std::memory_order_relaxed);
      }
    } cancellation;

    Status prepare();
    Status prepareCommOp(const CommOpHere &commOp);
    void fail(const Status &status);
    uint64_t progress() const;
    /// Whether anything has happened since the last call.
    bool moves();
    Standstill standstill(uint64_t section) override;
    void end(ExitCode why, double seconds,
             const std::vector<std::vector<std::byte>> &all) override;
  };

  static void rankThread(std::shared_ptr<State> state, uint32_t index);
  static void watchdogThread(std::shared_ptr<State> state);

  std::shared_ptr<State> state;
  std::vector<Thread> threads;
  bool stuck = false;
};

} // namespace pprt::polled

#endif // PPRT_ENGINE_POLLED_POLLEDEXECUTOR_H
