//===- StepClock.h - how long steps take, and wait for data -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the times at which each step's batch was requested, the step began, its
// end was seen, and it was waited for. Out: the step's own time, and the time
// before it in which no step ran because its batch was not ready. A step may
// begin before the previous one has ended: its time then counts from that end.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_STEPCLOCK_H
#define PPRT_HOST_STEPCLOCK_H

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

#pragma GCC visibility push(default)
namespace pprt::host {

class StepClock {
public:
  using Time = std::chrono::steady_clock::time_point;
  /// In milliseconds.
  struct Span {
    double step, data;
  };

  explicit StepClock(Time now) : last(now) {}

  /// Returns the time of the last end of a step, or of the clock's start.
  Time lastEnd() const { return last; }

  /// Returns the number of steps that have begun and were not waited for.
  size_t size() const { return underWay.size(); }
  /// Whether the oldest step's end has not been seen.
  bool runs() const { return !underWay.empty() && !underWay.front().end; }

  /// Begins a step whose batch was requested at `asked`.
  void begin(Time asked, Time now) {
    const Time idle =
        underWay.empty() ? asked : underWay.back().end.value_or(now);
    underWay.push_back({now, millisecondsBetween(std::max(asked, idle), now)});
  }
  /// Notes that the oldest step has ended; later calls for it have no effect.
  void see(Time now) {
    if (runs())
      underWay.front().end = now;
  }
  /// Notes that the oldest step, which must exist, was waited for.
  Span finish(Time now) {
    see(now);
    const Step step = underWay.front();
    underWay.pop_front();
    const Time begin = std::max(step.begin, last);
    last = *step.end;
    return {millisecondsBetween(begin, last), step.dataMs};
  }

private:
  static double millisecondsBetween(Time from, Time to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
  }

  struct Step {
    Time begin;
    double dataMs;
    std::optional<Time> end = {};
  };
  std::deque<Step> underWay; ///< the oldest first
  Time last;
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_STEPCLOCK_H
