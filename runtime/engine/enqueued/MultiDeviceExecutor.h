//===- MultiDeviceExecutor.h - an executor for each device ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the executors of a process's devices, in the order of ranks. Out: one
// executor. It calls them side by side on a thread each, because a device's
// part of a comm op may have to wait for another's. A driver may block a call
// that allocates, loads or records until all devices of the process are idle,
// so no section begins before all are ready.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_ENQUEUED_MULTIDEVICEEXECUTOR_H
#define PPRT_ENGINE_ENQUEUED_MULTIDEVICEEXECUTOR_H

#include "../Thread.h"
#include "EnqueuedExecutor.h"
#include "pprt/Ranks.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace pprt::enqueued {

class MultiDeviceExecutor final : public Executor {
public:
  struct Part {
    RankRange ranks;
    std::unique_ptr<EnqueuedExecutor> executor;
  };

  /// Fails (device) if the system refuses a thread.
  static Expected<std::unique_ptr<MultiDeviceExecutor>>
  create(std::vector<Part> parts);
  ~MultiDeviceExecutor() override;

  Status submit(Section section, int64_t step) override;
  Status wait() override {
    return onEach([](EnqueuedExecutor &executor) { return executor.wait(); });
  }
  bool hasEnded() override;
  unsigned stepsAhead() const override;
  bool isStuck() const override;
  LocalRank &rank(uint32_t index) const override {
    return of(index).rank(index);
  }
  int64_t timesError(uint32_t rank, Section section) const override {
    return of(rank).timesError(rank, section);
  }

private:
  explicit MultiDeviceExecutor(std::vector<Part> parts)
      : parts(std::move(parts)) {}
  using Call = std::function<Status(EnqueuedExecutor &)>;

  EnqueuedExecutor &of(uint32_t rank) const;
  /// Calls all. After the first failure, which it returns, none is at work: one
  /// left alone would hold up commands of others on the same device.
  Status onEach(Call call);
  /// Returns the first failure of this call.
  Status callEach(Call call);
  void work(size_t part);

  const std::vector<Part> parts;
  std::vector<Thread> threads; ///< for all parts but the first
  std::mutex mutex;
  std::condition_variable changed;
  // Under the mutex.
  uint64_t calls = 0; ///< number of calls so far
  Call call;
  size_t running = 0; ///< threads still in the call
  bool quits = false;
  Status first;   ///< failure of the call
  Status failure; ///< first of all calls; used by the caller's thread
};

} // namespace pprt::enqueued

#endif // PPRT_ENGINE_ENQUEUED_MULTIDEVICEEXECUTOR_H
