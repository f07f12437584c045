//===- SearchProblem.cpp - what a schedule search is given ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The check of a problem, and what a placement means for a schedule: its times
// and its memory.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/ScheduleSearch.h"
#include "pp/Schedule/Algorithms.h"
#include <algorithm>
#include <cmath>

using namespace pp;

bool ScheduleSearchProblem::check(std::string &error) const {
  schedule::ScheduleProblem sizes;
  sizes.ranks = positions;
  sizes.microBatches = microBatches;
  if (!sizes.check(error))
    return false;
  auto fail = [&](const std::string &message) {
    error = message;
    return false;
  };
  if (placements.empty())
    return fail("expects at least 1 placement, got none");
  if (!limits.empty() && limits.size() != positions)
    return fail("expects a limit for each of " + std::to_string(positions) +
                " positions, got " + std::to_string(limits.size()));
  for (const Placement &placement : placements) {
    const size_t stages = placement.loads.size();
    if (placement.positionOf.size() != stages)
      return fail("expects a position for each of " + std::to_string(stages) +
                  " stages, got " +
                  std::to_string(placement.positionOf.size()));
    if (stages > schedule::maxStages ||
        stages * microBatches > schedule::maxActions)
      return fail("expects at most " + std::to_string(schedule::maxStages) +
                  " stages and " + std::to_string(schedule::maxActions) +
                  " pairs of stage and micro-batch, got " +
                  std::to_string(stages) + " and " +
                  std::to_string(stages * microBatches));
    std::vector<bool> hasStage(positions);
    for (size_t stage = 0; stage < stages; ++stage) {
      const std::string name = "stage " + std::to_string(stage);
      const unsigned position = placement.positionOf[stage];
      if (position >= positions)
        return fail("expects " + name + " at a position below " +
                    std::to_string(positions) + ", got " +
                    std::to_string(position));
      hasStage[position] = true;
      const StageLoad &load = placement.loads[stage];
      for (double seconds : {load.forwardSeconds, load.backwardSeconds,
                             load.weightSeconds, load.mergedSeconds,
                             load.sendForwardSeconds, load.sendBackwardSeconds})
        if (!(seconds >= 0 && std::isfinite(seconds * schedule::maxActions)))
          return fail("expects times of at least 0 s, of which a step's sum is "
                      "finite, got " +
                      std::to_string(seconds) + " of " + name);
      constexpr int64_t most = kUnlimited / schedule::maxActions / 4;
      for (int64_t bytes : {load.residualBytes, load.weightBytes})
        if (bytes < 0 || bytes > most)
          return fail("expects residuals between 0 and " +
                      std::to_string(most) + " bytes, got " +
                      std::to_string(bytes) + " of " + name);
    }
    const auto empty = std::find(hasStage.begin(), hasStage.end(), false);
    if (empty != hasStage.end())
      return fail("expects a stage at every position, got none at position " +
                  std::to_string(empty - hasStage.begin()));
  }
  return true;
}

schedule::Schedule pp::leanestSchedule(const Placement &placement,
                                       unsigned microBatches) {
  const std::vector<unsigned> &positionOf = placement.positionOf;
  const auto stages = unsigned(positionOf.size());
  schedule::Schedule order{"auto", stages, microBatches, {}};
  order.ranks.resize(1 +
                     *std::max_element(positionOf.begin(), positionOf.end()));
  auto add = [&](unsigned stage, schedule::Kind kind, unsigned microBatch) {
    order.ranks[positionOf[stage]].push_back({stage, kind, microBatch});
  };
  for (unsigned m = 0; m < microBatches; ++m) {
    for (unsigned stage = 0; stage < stages; ++stage)
      add(stage, schedule::Kind::Forward, m);
    for (unsigned stage = stages; stage-- > 0;)
      add(stage, schedule::Kind::Backward, m);
  }
  return order;
}

schedule::Durations pp::durationsOf(const Placement &placement) {
  schedule::Durations durations;
  durations.action = [&](const schedule::Action &action, bool isMerged) {
    const StageLoad &load = placement.loads[action.stage];
    switch (action.kind) {
    case schedule::Kind::Forward:
      return load.forwardSeconds;
    case schedule::Kind::Backward:
      return isMerged ? load.mergedSeconds : load.backwardSeconds;
    case schedule::Kind::Weight:
      return load.weightSeconds;
    }
    return 0.0;
  };
  durations.transfer = [&](const schedule::Action &from,
                           const schedule::Action &) {
    const StageLoad &load = placement.loads[from.stage];
    return from.kind == schedule::Kind::Forward ? load.sendForwardSeconds
                                                : load.sendBackwardSeconds;
  };
  return durations;
}

std::vector<int64_t> pp::peakBytes(const Placement &placement,
                                   const schedule::Schedule &schedule) {
  const std::vector<bool> isSplit = schedule::splitBackwards(schedule);
  std::vector<int64_t> peaks;
  for (const std::vector<schedule::Action> &actions : schedule.ranks) {
    int64_t held = 0, peak = 0;
    for (const schedule::Action &action : actions) {
      const StageLoad &load = placement.loads[action.stage];
      if (action.kind == schedule::Kind::Forward)
        held += load.residualBytes;
      else if (action.kind == schedule::Kind::Weight)
        held -= load.weightBytes;
      else
        held += (isSplit[size_t(action.stage) * schedule.microBatches +
                         action.microBatch]
                     ? load.weightBytes
                     : 0) -
                load.residualBytes;
      peak = std::max(peak, held);
    }
    peaks.push_back(peak);
  }
  return peaks;
}
