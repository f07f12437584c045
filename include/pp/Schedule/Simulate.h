//===- Simulate.h - simulates and draws a schedule --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a schedule and the durations of actions and transfers. Out: when each
// starts and ends, how long every rank is idle, and pictures of that.
//
//===----------------------------------------------------------------------===//
#ifndef PP_SCHEDULE_SIMULATE_H
#define PP_SCHEDULE_SIMULATE_H

#include "pp/Schedule/Schedule.h"

#include <functional>
#include <string>

namespace pp::schedule {

/// Durations, in any unit; negative ones count as zero.
struct Durations {
  /// Duration of an action; `merged` is true for a backward action that also
  /// computes the weight gradients.
  std::function<double(const Action &action, bool merged)> action;
  /// Duration of the transfer from `producer` to `consumer`, which lie on
  /// different ranks.
  std::function<double(const Action &producer, const Action &consumer)>
      transfer;

  /// Every action takes 1, every transfer 0.
  static Durations unit();
  /// A forward action takes 1, a backward action 2, half of which is the weight
  /// gradient if it is split off; every transfer 0.
  static Durations usual();
};

struct TimedAction {
  Action action;
  double start = 0, end = 0;
};

struct TimedTransfer {
  Action producer, consumer;
  unsigned from = 0, to = 0;
  double start = 0, end = 0;
};

/// When everything happens in one step that starts at 0.
struct Timeline {
  /// Parallel to `Schedule::ranks`.
  std::vector<std::vector<TimedAction>> ranks;
  std::vector<TimedTransfer> transfers;
  /// The end of the last action.
  double end = 0;

  /// The share of [0, end] in which a rank computes nothing.
  double bubble(unsigned rank) const;
  /// The mean of that share over all ranks.
  double bubble() const;
};

/// Runs the schedule in virtual time. Actions of a rank run one at a time, in
/// order; so do the transfers of a directed edge, in the order in which they
/// are produced, without occupying the ranks at either end. Assumes a verified
/// schedule.
Timeline simulate(const Schedule &schedule, const Durations &durations);

/// A drawing of one line per rank, at most about `columns` characters wide,
/// idle time as dots. Actions too narrow for their names show their kind only.
std::string drawText(const Schedule &schedule, const Timeline &timeline,
                     unsigned columns = 160);

/// A self-contained SVG document: a row per rank, time to the right, a legend
/// and the idle share of each rank.
std::string drawSvg(const Schedule &schedule, const Timeline &timeline);

} // namespace pp::schedule

#endif // PP_SCHEDULE_SIMULATE_H
