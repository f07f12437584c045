//===- Executor.h - runs the sections of this process's ranks ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The interface of executors of queues. The polled one, whose threads look for
// instructions that may start, is in polled/; the one that puts a section on
// streams at once is in enqueued/. Both represent a rank in the same way.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_EXECUTOR_H
#define PPRT_ENGINE_EXECUTOR_H

#include "Limits.h"
#include "LocalRank.h"

namespace pprt {

/// Source of LOAD's data and destination of EMIT's. Called on any thread, for
/// several ranks at the same time.
class HostData {
public:
  virtual ~HostData() = default;
  /// A failure ends the section on all ranks.
  virtual Status load(uint32_t rank, const Instruction &instruction,
                      std::byte *slot) = 0;
  virtual void emit(uint32_t rank, const Instruction &instruction,
                    const std::byte *slot) = 0;
};

/// Options of both kinds of executors.
struct ExecutorOptions {
  /// Ranks of this process.
  RankRange ranks;
  Limits limits;
  bool spin = false;   ///< if no two threads share a core
  bool records = true; ///< whether to record a step, if the device can
};

class Executor {
public:
  virtual ~Executor() = default;

  /// Begins a section on all ranks, behind those before it; inputs may be set
  /// anew once this returns. At most stepsAhead() bodies may be under way, and
  /// nothing else beside them.
  virtual Status submit(Section section, int64_t step) = 0;
  /// Returns when the oldest section under way has ended, with its outputs.
  /// After a failure every call returns it, the first once all ranks have left
  /// the section, or soon even if they do not.
  virtual Status wait() = 0;
  /// Whether the devices of this process would let wait() return at once. Costs
  /// them next to nothing.
  virtual bool hasEnded() = 0;
  /// 1 if a section has ended when submit() returns.
  virtual unsigned stepsAhead() const = 0;
  Status run(Section section, int64_t step) {
    const Status status = submit(section, step);
    return status.ok() ? wait() : status;
  }
  /// Whether a rank did not leave the section that failed. It may still write
  /// to arenas, times and the host: these must not be read, and everything it
  /// uses stays until the process ends, which must happen at once.
  virtual bool isStuck() const = 0;

  // Called while nothing is under way.

  /// Returns a rank of this process.
  virtual LocalRank &rank(uint32_t index) const = 0;
  /// Largest error of the section's times on the rank's device, in nanoseconds,
  /// if the device has its own clock.
  virtual int64_t timesError(uint32_t rank, Section section) const = 0;
};

} // namespace pprt

#endif // PPRT_ENGINE_EXECUTOR_H
