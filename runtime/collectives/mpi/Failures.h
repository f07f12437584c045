//===- Failures.h - failures known to the processes -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: failures of sessions and of the world, from any thread. Out: the failure
// that other processes do not know yet, and since when. A failure is settled
// once all processes agree on it: it is reported, further failures of sessions
// that existed then are its consequences, and waits have no deadline any more.
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

  /// Number of settled failures.
  uint64_t settled() const { return count.load(std::memory_order_acquire); }
  /// `age`: settled() when the failed object was made.
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

  /// Whether a failure is not settled.
  bool isOpen() const { return open.load(std::memory_order_acquire); }
  /// Whether there was a failure: messages may be in transit for ever.
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
