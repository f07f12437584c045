//===- Schedule.cpp - Queries on schedules --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Queries on a schedule: places of stages, dependencies, micro-batches in
// flight.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Schedule.h"

#include <algorithm>
#include <iterator>

using namespace pp::schedule;

std::vector<unsigned> pp::schedule::stageRanks(const Schedule &schedule) {
  std::vector<unsigned> ranks(schedule.stages, 0);
  for (unsigned rank = 0; rank < schedule.ranks.size(); ++rank)
    for (const Action &action : schedule.ranks[rank])
      ranks[action.stage] = rank;
  return ranks;
}

std::vector<bool> pp::schedule::splitBackwards(const Schedule &schedule) {
  std::vector<bool> split(size_t(schedule.stages) * schedule.microBatches);
  for (const std::vector<Action> &actions : schedule.ranks)
    for (const Action &action : actions)
      if (action.kind == Kind::Weight)
        split[size_t(action.stage) * schedule.microBatches +
              action.microBatch] = true;
  return split;
}

void pp::schedule::completeWeights(Schedule &schedule) {
  const std::vector<bool> isSplit = splitBackwards(schedule);
  const size_t m = schedule.microBatches;
  std::vector<bool> splits(schedule.stages);
  for (size_t i = 0; i < isSplit.size(); ++i)
    if (isSplit[i])
      splits[i / m] = true;
  for (std::vector<Action> &actions : schedule.ranks) {
    std::vector<Action> complete;
    for (const Action &action : actions) {
      complete.push_back(action);
      if (action.kind == Kind::Backward && splits[action.stage] &&
          !isSplit[action.stage * m + action.microBatch])
        complete.push_back({action.stage, Kind::Weight, action.microBatch});
    }
    actions = std::move(complete);
  }
}

Schedule pp::schedule::takeMicroBatches(const Schedule &schedule,
                                        unsigned count) {
  Schedule part{schedule.name,
                schedule.stages,
                std::min(schedule.microBatches, count),
                {}};
  for (const std::vector<Action> &actions : schedule.ranks)
    std::copy_if(
        actions.begin(), actions.end(),
        std::back_inserter(part.ranks.emplace_back()),
        [&](const Action &action) { return action.microBatch < count; });
  return part;
}

unsigned pp::schedule::peakInFlight(const Schedule &schedule, unsigned rank) {
  std::vector<bool> split = splitBackwards(schedule);
  unsigned inFlight = 0, peak = 0;
  for (const Action &action : schedule.ranks[rank]) {
    if (action.kind == Kind::Forward)
      peak = std::max(peak, ++inFlight);
    else if (action.kind == Kind::Weight ||
             !split[size_t(action.stage) * schedule.microBatches +
                    action.microBatch])
      --inFlight;
  }
  return peak;
}

Dependencies pp::schedule::dependencies(const Schedule &schedule,
                                        const Action &action) {
  Dependencies needed;
  auto add = [&](unsigned stage, Kind kind) {
    needed.actions[needed.count++] = {stage, kind, action.microBatch};
  };
  switch (action.kind) {
  case Kind::Forward:
    if (action.stage > 0)
      add(action.stage - 1, Kind::Forward);
    break;
  case Kind::Backward:
    add(action.stage, Kind::Forward);
    if (action.stage + 1 < schedule.stages)
      add(action.stage + 1, Kind::Backward);
    break;
  case Kind::Weight:
    add(action.stage, Kind::Backward);
    break;
  }
  return needed;
}
