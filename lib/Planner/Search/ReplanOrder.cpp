//===- ReplanOrder.cpp - lists an order anew by how late it may be --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In the best order most actions may be later, and the step as long. An action
// that may be late is not urgent: listed by these times, others pass it.
//
//===----------------------------------------------------------------------===//
#include "OrderSearch.h"
#include <algorithm>
#include <tuple>

using namespace pp;

namespace {

struct Place {
  double start;
  unsigned position;
  size_t index;
  Step step;
  unsigned microBatch;
};

} // namespace

/// A rule whose priorities are the latest starts with which the best order is
/// as short: found from the end of the step to its start.
ListRule OrderSearch::planLatest() const {
  const size_t m = model.microBatches;
  std::vector<Place> places;
  std::vector<unsigned> count(3 * size_t(model.stages));
  for (unsigned position = 0; position < model.positions; ++position)
    for (size_t i = 0; i < bestOrder.steps[position].size(); ++i) {
      const Step step = bestOrder.steps[position][i];
      places.push_back(
          {bestTimes.starts[position][i], position, i, step, count[step]++});
    }
  std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) {
    return std::tie(a.start, a.position, a.index) >
           std::tie(b.start, b.position, b.index);
  });
  ListRule rule = bestRule;
  rule.isSplit = bestOrder.isSplit;
  rule.priorities.assign(count.size() * m, bestSeconds);
  std::vector<double> next(model.positions, bestSeconds);
  for (const Place &place : places) {
    const Step step = place.step;
    const unsigned stage = step / 3, kind = step % 3;
    double end = next[place.position];
    auto endBefore = [&](Step consumer) {
      end = std::min(end, rule.priorities[consumer * m + place.microBatch] -
                              model.sendSeconds(step));
    };
    if (kind == kForward && stage + 1 < model.stages)
      endBefore(step + 3);
    if (kind == kBackward && stage > 0)
      endBefore(step - 3);
    const double start = end - model.seconds(step, rule.isSplit[stage]);
    rule.priorities[step * m + place.microBatch] = next[place.position] = start;
  }
  return rule;
}

void OrderSearch::replan() {
  for (bool isBetter = true; isBetter && !isDone();) {
    isBetter = false;
    ListRule rule = planLatest();
    const double before = bestSeconds;
    for (double patience : {0.0, 0.3, 0.6, 1.0}) {
      for (Knobs &knobs : rule.knobs)
        knobs.patience = patience;
      if (const auto order = isDone() ? std::nullopt : listOrder(model, rule))
        consider(*order);
    }
    isBetter = isLess(bestSeconds, before);
  }
}
