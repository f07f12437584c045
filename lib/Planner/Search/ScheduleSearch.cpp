//===- ScheduleSearch.cpp - searches the best order of actions ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Begins with the named schedules, goes on with rules and changes of the best
// order, and ends, where a step is small, with all orders that could be better.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/ScheduleSearch.h"
#include "ExactOrder.h"
#include "OrderBound.h"
#include "OrderSearch.h"
#include "PartialOrder.h"
#include "pp/Schedule/Algorithms.h"
#include <algorithm>

using namespace pp;

/// Pairs of stage and micro-batch up to which all orders are searched. Stages
/// are no more than the bits of a mask have room for.
static constexpr uint64_t kMostExactPairs = 128;
static constexpr unsigned kMostExactStages = kMostBranchStages;

/// With the leanest order a position holds what all its stages hold of one
/// micro-batch. If that is too much, returns by how much and says so in
/// `error`.
static int64_t findExcess(const OrderModel &model, std::string &error) {
  int64_t excess = 0;
  for (unsigned position = 0; position < model.positions; ++position) {
    int64_t bytes = 0;
    for (unsigned stage : model.stagesAt[position])
      bytes += model.loads[stage].residualBytes;
    if (bytes - excess <= model.limits[position])
      continue;
    excess = bytes - model.limits[position];
    error = "expects a limit of at least " + std::to_string(bytes) +
            " bytes at position " + std::to_string(position) +
            ", what one micro-batch holds there, got " +
            std::to_string(model.limits[position]) +
            "; more positions, more micro-batches or more recomputation make "
            "a micro-batch hold less";
  }
  return excess;
}

/// Named orders whose stages lie as the model's.
static void considerNamed(const OrderModel &model, OrderSearch &search) {
  schedule::ScheduleProblem sizes;
  sizes.ranks = model.positions;
  sizes.microBatches = model.microBatches;
  sizes.chunks = model.stages / model.positions;
  if (sizes.stages() != model.stages)
    return;
  for (const schedule::Algorithm &algorithm : schedule::algorithms()) {
    std::string error;
    const auto named = schedule::generate(algorithm.name, sizes, error);
    if (!named || schedule::stageRanks(*named) != model.positionOf)
      continue;
    const Order order = toOrder(model, *named);
    search.consider(order);
    // The same with both gradients in one action.
    Order merged{std::vector<char>(model.stages), order.steps};
    for (std::vector<Step> &steps : merged.steps)
      steps.erase(std::remove_if(steps.begin(), steps.end(),
                                 [](Step step) { return step % 3 == kWeight; }),
                  steps.end());
    search.consider(merged);
  }
}

std::optional<FoundSchedule>
pp::searchSchedule(const ScheduleSearchProblem &problem, std::string &error,
                   const SearchEffort &effort) {
  if (!problem.check(error))
    return std::nullopt;
  std::vector<OrderModel> models;
  std::vector<size_t> fitting;
  int64_t leastExcess = kUnlimited;
  for (const Placement &placement : problem.placements) {
    models.emplace_back(problem, placement);
    std::string message;
    const int64_t excess = findExcess(models.back(), message);
    if (excess == 0)
      fitting.push_back(models.size() - 1);
    else if (excess < leastExcess) {
      leastExcess = excess;
      error = message;
    }
  }
  if (fitting.empty())
    return std::nullopt;

  FoundSchedule found;
  found.seconds = found.leastSeconds = kNever;
  for (size_t i : fitting) {
    const OrderModel &model = models[i];
    double least = leastSeconds(model, kNever);
    if (!isLess(least, found.seconds))
      continue; // another placement is as good as this can be
    OrderSearch search(model, least, effort.placedActions / fitting.size());
    considerNamed(model, search);
    search.consider(toOrder(
        model, leanestSchedule(problem.placements[i], problem.microBatches)));
    search.tryRules();
    search.replan();
    search.moveActions();
    search.branchWidely();
    search.replan();
    search.moveActions();
    double seconds = search.seconds();
    Order order = search.best();
    found.orders += search.orders();
    least = std::max(least, leastSeconds(model, seconds));
    if (isLess(least, seconds) && model.stages <= kMostExactStages &&
        uint64_t(model.stages) * model.microBatches <= kMostExactPairs) {
      ExactResult exact =
          findExactOrder(model, seconds, least, effort.exactNodes);
      found.nodes += exact.nodes;
      if (exact.order) {
        order = std::move(*exact.order);
        seconds = exact.seconds;
      }
      if (exact.isComplete)
        least = seconds;
    }
    found.leastSeconds = std::min(found.leastSeconds, least);
    if (!isLess(seconds, found.seconds))
      continue;
    found.placement = i;
    found.seconds = seconds;
    found.schedule = toSchedule(model, order);
  }
  const Placement &placement = problem.placements[found.placement];
  found.seconds =
      schedule::simulate(found.schedule, durationsOf(placement)).end;
  found.leastSeconds = std::min(found.leastSeconds, found.seconds);
  found.peakBytes = peakBytes(placement, found.schedule);
  found.isOptimal = !isLess(found.leastSeconds, found.seconds);
  return found;
}
