//===- StepClock.h - how long steps take, and wait for data -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: when each step's batch was asked for, when the step began, when it was
// seen to have ended, and when it was waited for. Out: its own time, and the
// time before it in which no step ran because its batch was not there. A step
// may begin before the one before it has ended: its time then counts from that
// end.
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

  /// When a step was over last, or the clock began.
  Time lastEnd() const { return last; }

  /// How many steps have begun and were not waited for.
  size_t size() const { return underWay.size(); }
  /// Whether there is one of which no end was seen.
  bool runs() const { return !underWay.empty() && !underWay.front().end; }

  /// A step begins, whose batch was asked for at `asked`.
  void begin(Time asked, Time now) {
    const Time idle =
        underWay.empty() ? asked : underWay.back().end.value_or(now);
    underWay.push_back({now, millisecondsBetween(std::max(asked, idle), now)});
  }
  /// The oldest step has ended; what is said again counts for nothing.
  void see(Time now) {
    if (runs())
      underWay.front().end = now;
  }
  /// The oldest step was waited for; there is one.
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
