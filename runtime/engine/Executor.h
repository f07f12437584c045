//===- Executor.h - runs the sections of this process's ranks ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What a session asks of whatever walks the queues. A polled executor, whose
// threads look for what may start, is in polled/; one that puts all of a
// section on streams at once in enqueued/. What a rank has is the same in both.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_EXECUTOR_H
#define PPRT_ENGINE_EXECUTOR_H

#include "Limits.h"
#include "LocalRank.h"

namespace pprt {

/// Where LOAD takes its data from and EMIT leaves it. Called on any thread, for
/// several ranks at the same time.
class HostData {
public:
  virtual ~HostData() = default;
  /// A failure ends the section on all ranks.
  virtual Status load(uint32_t rank, const ppx::InstructionT &instruction,
                      std::byte *slot) = 0;
  virtual void emit(uint32_t rank, const ppx::InstructionT &instruction,
                    const std::byte *slot) = 0;
};

/// What an executor of either kind is told.
struct ExecutorOptions {
  /// Of this process.
  RankRange ranks;
  Limits limits;
  bool spin = false;   ///< when no two threads share a core
  bool records = true; ///< a step, where the device can
};

class Executor {
public:
  virtual ~Executor() = default;

  /// Begins a section on all ranks; inputs may be given anew once this returns.
  /// It comes behind those before it. At most stepsAhead() bodies may be under
  /// way, and nothing else beside them.
  virtual Status submit(Section section, int64_t step) = 0;
  /// Returns when the oldest that is under way has ended, with what it emitted.
  /// After a failure every call returns it, the first once all ranks have left
  /// the section, or soon even if they do not.
  virtual Status wait() = 0;
  /// Whether wait() would return at once, as far as the devices of this process
  /// go. Costs them next to nothing.
  virtual bool hasEnded() = 0;
  /// One if a section has ended when submit() returns.
  virtual unsigned stepsAhead() const = 0;
  Status run(Section section, int64_t step) {
    const Status status = submit(section, step);
    return status.ok() ? wait() : status;
  }
  /// Whether a rank did not leave the section that failed. It may still write
  /// to arenas, times and the host: nobody may look at them, and what it uses
  /// stays until the process ends, which has to be at once.
  virtual bool isStuck() const = 0;

  // While nothing is under way.

  /// Of this process.
  virtual LocalRank &rank(uint32_t index) const = 0;
  /// Nanoseconds by which all times of the section on the rank's device may be
  /// early or late, if it has a clock of its own.
  virtual int64_t timesError(uint32_t rank, Section section) const = 0;
};

} // namespace pprt

#endif // PPRT_ENGINE_EXECUTOR_H
