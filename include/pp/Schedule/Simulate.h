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

  /// The time of [0, end] in which a rank is idle over that in which it
  /// computes; nothing if it computes nothing. docs/Schedules.md defines it.
  std::optional<double> bubble(unsigned rank) const;
  /// All idle time of all ranks over all busy time.
  std::optional<double> bubble() const;
};

/// Runs the schedule in virtual time. Actions of a rank run one at a time, in
/// order; so do the transfers of a directed edge, in the order in which they
/// are produced, without occupying the ranks at either end. Assumes a verified
/// schedule.
Timeline simulate(const Schedule &schedule, const Durations &durations);

/// A drawing of one line per rank, at most about `columns` characters wide,
/// idle time as dots. Actions too narrow for their names show their kind only.
/// `tellsBubbles`: each line ends with the rank's bubble.
std::string drawText(const Schedule &schedule, const Timeline &timeline,
                     unsigned columns = 160, bool tellsBubbles = true);

/// The same as a Picture, in SVG; `timeline` has Durations::usual().
/// `drawsTransfers`: with a line for each.
std::string drawSvg(const Schedule &schedule, const Timeline &timeline,
                    bool drawsTransfers = false);

/// `75.0%`, or `-` for nothing.
std::string printBubble(std::optional<double> bubble);

/// `1f1b, 4 stages, 8 micro-batches`.
std::string describe(const Schedule &schedule);

} // namespace pp::schedule

#endif // PP_SCHEDULE_SIMULATE_H
