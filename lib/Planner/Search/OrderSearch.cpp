//===- OrderSearch.cpp - the best order so far ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "OrderSearch.h"
#include "BeamOrder.h"
#include "PartialOrder.h"

using namespace pp;

/// Of the beam search: twice as wide takes twice as long, and finds little
/// more.
static constexpr size_t kMostWidth = 64;

double OrderSearch::consider(const Order &order) {
  ++triedOrders;
  for (const std::vector<Step> &steps : order.steps)
    placedActions += steps.size();
  std::optional<OrderTimes> times = timeOrder(model, order);
  if (!times)
    return kNever;
  const double seconds = times->end;
  if (isLess(seconds, bestSeconds)) {
    bestSeconds = seconds;
    bestOrder = order;
    bestTimes = std::move(*times);
  }
  return seconds;
}

bool OrderSearch::tryRule(const ListRule &rule) {
  if (isDone())
    return false;
  const std::optional<Order> order = listOrder(model, rule);
  placedActions += 3 * uint64_t(model.stages) * model.microBatches;
  const double seconds = order ? consider(*order) : kNever;
  if (!isLess(seconds, bestRuleSeconds))
    return false;
  bestRule = rule;
  bestRuleSeconds = seconds;
  return true;
}

void OrderSearch::branchWidely() {
  if (model.stages > kMostBranchStages)
    return;
  for (size_t width = 4; width <= kMostWidth && !isDone(); width *= 4) {
    const uint64_t cost = workOfBeam(model, width);
    if (cost > work - placedActions)
      return;
    placedActions += cost;
    if (const auto order = findBeamOrder(model, bestSeconds, width))
      consider(*order);
  }
}
