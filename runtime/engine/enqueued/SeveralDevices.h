//===- SeveralDevices.h - an executor for each device -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the executors of a process's devices, which have neighbouring ranks. Out:
// one executor. They are told of a section, and waited for, side by side on a
// thread each, for a device's part of a meeting may have to wait for another's.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_ENQUEUED_SEVERALDEVICES_H
#define PPRT_ENGINE_ENQUEUED_SEVERALDEVICES_H

#include "../Executor.h"
#include "../Thread.h"
#include "pprt/Ranks.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace pprt::enqueued {

class SeveralDevices final : public Executor {
public:
  struct Part {
    RankRange ranks;
    std::unique_ptr<Executor> executor;
  };

  /// Fails (device) if the system refuses a thread.
  static Expected<std::unique_ptr<SeveralDevices>>
  create(std::vector<Part> parts);
  ~SeveralDevices() override;

  Status submit(Section section, int64_t step) override {
    return onEach(
        [=](Executor &executor) { return executor.submit(section, step); });
  }
  Status wait() override {
    return onEach([](Executor &executor) { return executor.wait(); });
  }
  unsigned stepsAhead() const override;
  bool isStuck() const override;
  Status
  readSlot(uint32_t rank, uint32_t slot,
           const std::function<void(const std::byte *)> &visit) override {
    return of(rank).readSlot(rank, slot, visit);
  }
  Status writeSlot(uint32_t rank, uint32_t slot,
                   const std::function<void(std::byte *)> &fill) override {
    return of(rank).writeSlot(rank, slot, fill);
  }
  bool keepsValues() const override {
    return parts.front().executor->keepsValues();
  }
  const std::vector<InstructionTime> &times(uint32_t rank,
                                            Section section) const override {
    return of(rank).times(rank, section);
  }
  int64_t timesError(uint32_t rank, Section section) const override {
    return of(rank).timesError(rank, section);
  }
  uint64_t peakBytes(uint32_t rank) const override {
    return of(rank).peakBytes(rank);
  }
  uint64_t allocationCount(uint32_t rank) const override {
    return of(rank).allocationCount(rank);
  }

private:
  explicit SeveralDevices(std::vector<Part> parts) : parts(std::move(parts)) {}
  Executor &of(uint32_t rank) const;
  /// The first failure of all.
  Status onEach(std::function<Status(Executor &)> call);
  void work(size_t part);

  const std::vector<Part> parts;
  std::vector<Thread> threads; ///< of all parts but the first
  std::mutex mutex;
  std::condition_variable changed;
  // Under the mutex.
  uint64_t calls = 0; ///< counts them
  std::function<Status(Executor &)> call;
  size_t running = 0; ///< threads that have not ended the call
  bool quits = false;
  Status failure; ///< the first
};

} // namespace pprt::enqueued

#endif // PPRT_ENGINE_ENQUEUED_SEVERALDEVICES_H
