//===- Simulate.cpp - The timeline of a schedule --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Start and end times follow from those of the actions depended on, so one walk
// in dependency order gives them all; no event queue is needed.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Simulate.h"

#include "Replay.h"

#include <algorithm>
#include <map>

using namespace pp::schedule;

Durations Durations::unit() {
  return {[](const Action &, bool) { return 1.0; },
          [](const Action &, const Action &) { return 0.0; }};
}

Durations Durations::usual() {
  return {[](const Action &, bool merged) { return merged ? 2.0 : 1.0; },
          [](const Action &, const Action &) { return 0.0; }};
}

static double busyTime(const std::vector<TimedAction> &actions) {
  double busy = 0;
  for (const TimedAction &timed : actions)
    busy += timed.end - timed.start;
  return busy;
}

/// Sums in different orders: a full rank may seem busier than the step is long.
static std::optional<double> idleOverBusy(double whole, double busy) {
  if (busy <= 0)
    return std::nullopt;
  return std::max(0.0, whole - busy) / busy;
}

std::optional<double> Timeline::bubble(unsigned rank) const {
  return idleOverBusy(end, busyTime(ranks[rank]));
}

std::optional<double> Timeline::bubble() const {
  double busy = 0;
  for (const std::vector<TimedAction> &actions : ranks)
    busy += busyTime(actions);
  return idleOverBusy(end * double(ranks.size()), busy);
}

Timeline pp::schedule::simulate(const Schedule &schedule,
                                const Durations &durations) {
  Timeline timeline;
  timeline.ranks.resize(schedule.ranks.size());
  std::vector<bool> split = splitBackwards(schedule);
  std::vector<unsigned> rankOf = stageRanks(schedule);
  size_t m = schedule.microBatches;
  std::vector<double> endOf(3 * size_t(schedule.stages) * m);
  // When an action's result reaches the next rank; consumers on the same rank
  // have it when the action ends.
  std::vector<double> arrivalOf(endOf.size());
  std::map<std::pair<unsigned, unsigned>, double> edgeFree;

  replay(schedule, [&](unsigned rank, size_t index) {
    const Action &action = schedule.ranks[rank][index];
    double start =
        timeline.ranks[rank].empty() ? 0 : timeline.ranks[rank].back().end;
    for (const Action &needed : dependencies(schedule, action)) {
      const std::vector<double> &ready =
          rankOf[needed.stage] == rank ? endOf : arrivalOf;
      start = std::max(start, ready[actionNumber(needed, m)]);
    }
    bool isMerged = action.kind == Kind::Backward &&
                    !split[action.stage * m + action.microBatch];
    double end = start + std::max(0.0, durations.action(action, isMerged));
    timeline.ranks[rank].push_back({action, start, end});
    timeline.end = std::max(timeline.end, end);
    endOf[actionNumber(action, m)] = end;

    Action consumer = action;
    if (action.kind == Kind::Forward && action.stage + 1 < schedule.stages)
      ++consumer.stage;
    else if (action.kind == Kind::Backward && action.stage > 0)
      --consumer.stage;
    else
      return;
    unsigned to = rankOf[consumer.stage];
    if (to == rank)
      return;
    // Transfers of an edge are produced in list order, hence visited in it.
    double &free = edgeFree[{rank, to}];
    double sent = std::max(end, free);
    free = sent + std::max(0.0, durations.transfer(action, consumer));
    arrivalOf[actionNumber(action, m)] = free;
    timeline.transfers.push_back({action, consumer, rank, to, sent, free});
  });
  return timeline;
}
