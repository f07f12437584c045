//===- Event.h - how the threads of ranks wake each other -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A counter that a thread can wait on without a lock: it reads the counter,
// looks for work, and if there was none sleeps until the counter has changed. A
// wake-up between the look and the sleep is not lost.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_INPROCESS_EVENT_H
#define PPRT_COLLECTIVES_INPROCESS_EVENT_H

#include "pprt/Transport.h"

#include <atomic>
#include <cstdint>

namespace pprt::inprocess {

class Event final : public Waker {
public:
  /// About the time of a futex wake-up; longer waits are worth a sleep.
  static constexpr uint32_t kSpins = 4000;

  uint32_t count() const { return counter.load(std::memory_order_acquire); }
  void wake() override;
  /// Returns when count() is no longer `seen`. Polls `spins` times before it
  /// sleeps: 0 if threads outnumber cores.
  void wait(uint32_t seen, uint32_t spins);

private:
  // On its own cache line: it is all that other ranks write.
  alignas(64) std::atomic<uint32_t> counter{0};
  std::atomic<uint32_t> sleepers{0};
};

} // namespace pprt::inprocess

#endif // PPRT_COLLECTIVES_INPROCESS_EVENT_H
