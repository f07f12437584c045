//===- Failures.h - what the processes know of failures ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: failures of sessions and of the world, from any thread. Out: the one that
// others do not know of yet, and since when. Once all have come to agree on a
// failure it is settled: it is told, what else fails in the sessions of then is
// its consequence, and nobody is in a hurry any more.
//
// A world shares it with its transports, which may outlive it.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_FAILURES_H
#define PPRT_COLLECTIVES_MPI_FAILURES_H

#include "pprt/Status.h"

#include <atomic>
#include <chrono>
#include <mutex>

namespace pprt::mpi {

class Failures {
public:
  using Clock = std::chrono::steady_clock;

  /// How many have been settled.
  uint64_t settled() const { return count.load(std::memory_order_acquire); }
  /// `age`: what settled() was when that was made which has failed.
  void note(const Status &status, uint64_t age) {
    std::lock_guard<std::mutex> lock(mutex);
    any.store(true, std::memory_order_release);
    if (age < settled() || !cause.ok())
      return;
    cause = status;
    at = Clock::now();
    open.store(true, std::memory_order_release);
  }
  void settle() {
    std::lock_guard<std::mutex> lock(mutex);
    count.fetch_add(1, std::memory_order_acq_rel);
    cause = Status();
    open.store(false, std::memory_order_release);
  }

  /// Whether one is not settled.
  bool isOpen() const { return open.load(std::memory_order_acquire); }
  /// Whether there was one: messages may be under way for ever.
  bool hasAny() const { return any.load(std::memory_order_acquire); }
  Status first() {
    std::lock_guard<std::mutex> lock(mutex);
    return cause;
  }
  Clock::time_point since() {
    std::lock_guard<std::mutex> lock(mutex);
    return at;
  }

private:
  std::atomic<uint64_t> count{0};
  std::atomic<bool> open{false}, any{false};
  std::mutex mutex;
  Status cause;
  Clock::time_point at;
};

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_FAILURES_H
