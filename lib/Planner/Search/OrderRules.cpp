//===- OrderRules.cpp - a grid of rules, and the best one tuned -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// To keep the slowest position busy a position needs as many micro-batches in
// flight as that one runs while one of them is on its way there and back
// (Little's law); the grid has multiples of that.
//
//===----------------------------------------------------------------------===//
#include "OrderSearch.h"
#include <algorithm>
#include <cmath>

using namespace pp;

/// By position: the micro-batches that its first stage sends off before the
/// first is back, if the slowest position sets the pace.
static std::vector<double> roundTrips(const OrderModel &model) {
  double pace = 0;
  for (const std::vector<unsigned> &stages : model.stagesAt) {
    double work = 0;
    for (unsigned stage : stages)
      work += model.loads[stage].forwardSeconds + model.leastGradients(stage);
    pace = std::max(pace, work);
  }
  std::vector<double> trips(model.positions);
  double seconds = 0;
  for (unsigned stage = model.stages; stage-- > 0;) {
    const Step step = 3 * stage;
    seconds += model.loads[stage].forwardSeconds + model.leastBackward(stage);
    if (stage + 1 < model.stages)
      seconds +=
          model.sendSeconds(step) + model.sendSeconds(step + 3 + kBackward);
    if (model.isFirstAt(stage))
      trips[model.positionOf[stage]] = pace > 0 ? seconds / pace : 1;
  }
  return trips;
}

/// Whether a position has memory for one micro-batch with all stages split.
static bool splitFits(const OrderModel &model, unsigned position) {
  double held = 0;
  for (unsigned stage : model.stagesAt[position])
    held += double(model.loads[stage].residualBytes);
  for (auto stage = model.stagesAt[position].rbegin();
       stage != model.stagesAt[position].rend(); ++stage) {
    if (held + double(model.growth(*stage)) > double(model.limits[position]))
      return false;
    held -= double(model.loads[*stage].residualBytes);
  }
  return true;
}

/// Split where it makes the backward action shorter and memory allows it.
static std::vector<char> splitStages(const OrderModel &model) {
  std::vector<char> isSplit(model.stages);
  for (unsigned stage = 0; stage < model.stages; ++stage)
    isSplit[stage] =
        model.loads[stage].backwardSeconds < model.loads[stage].mergedSeconds &&
        splitFits(model, model.positionOf[stage]);
  return isSplit;
}

void OrderSearch::tryRules() {
  std::vector<std::vector<char>> splits{splitStages(model)};
  const std::vector<char> merged(model.stages, false);
  if (splits.front() != merged)
    splits.push_back(merged);
  const std::vector<double> trips = roundTrips(model);
  const unsigned m = model.microBatches;
  const bool hasChunks = model.stages > model.positions;
  for (const std::vector<char> &isSplit : splits)
    for (double factor : {1.0, 1.3, 1.7, 2.0, 3.0, 1e9})
      for (double more : {0.0, 1.0})
        for (double patience : {0.0, 0.5, 1.0})
          for (unsigned due : {1u, 3u, ~0u})
            for (int order = 0; order < (hasChunks ? 4 : 2); ++order) {
              ListRule rule{isSplit, {}, {}};
              for (double trip : trips) {
                Knobs &knobs = rule.knobs.emplace_back();
                knobs.inFlight = unsigned(std::clamp(
                    std::ceil(trip * factor) + more, 1.0, double(m)));
                knobs.patience = patience;
                knobs.due = due;
                knobs.isForwardFirst = order & 1;
                knobs.isOldestFirst = !(order & 2);
              }
              tryRule(rule);
            }
  tuneRule();
}

/// Changes the knobs of single positions while that helps.
void OrderSearch::tuneRule() {
  const bool hasChunks = model.stages > model.positions;
  const int m = int(model.microBatches);
  for (bool isBetter = true; isBetter && !isDone();) {
    isBetter = false;
    for (unsigned position = 0; position < model.positions; ++position) {
      auto tryChange = [&](auto change) {
        ListRule rule = bestRule;
        change(rule.knobs[position]);
        isBetter |= tryRule(rule);
      };
      for (int change : {1, -1, 2, -2, 4, -4})
        tryChange([&](Knobs &knobs) {
          knobs.inFlight =
              unsigned(std::clamp(int(knobs.inFlight) + change, 1, m));
        });
      for (unsigned due : {0u, 1u, 2u, 3u, 5u, 8u, ~0u})
        tryChange([&](Knobs &knobs) { knobs.due = due; });
      for (double patience : {0.0, 0.2, 0.4, 0.6, 0.8, 1.0})
        tryChange([&](Knobs &knobs) { knobs.patience = patience; });
      tryChange(
          [&](Knobs &knobs) { knobs.isForwardFirst = !knobs.isForwardFirst; });
      if (hasChunks)
        tryChange(
            [&](Knobs &knobs) { knobs.isOldestFirst = !knobs.isOldestFirst; });
      ListRule rule = bestRule;
      for (unsigned stage : model.stagesAt[position])
        rule.isSplit[stage] =
            !rule.isSplit[stage] && splitFits(model, position);
      if (rule.isSplit != bestRule.isSplit)
        isBetter |= tryRule(rule);
    }
  }
}
