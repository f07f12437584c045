//===- OrderState.cpp - a step that has run in part -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "OrderState.h"
#include <algorithm>

using namespace pp;

OrderState::OrderState(const OrderModel &model)
    : model(&model), counts(3 * size_t(model.stages)),
      arrivals(counts.size() * model.microBatches, kNever),
      free(model.positions), edgeFree(model.edges), bytes(model.positions) {
  const size_t m = model.microBatches;
  const size_t lastBackward = 3 * (size_t(model.stages) - 1) + kBackward;
  std::fill_n(arrivals.begin() + kForward * m, m, 0.0);
  std::fill_n(arrivals.begin() + lastBackward * m, m, 0.0);
}

double OrderState::startOf(Step step) const {
  const unsigned next = counts[step];
  const unsigned position = model->positionOf[step / 3];
  if (next >= model->microBatches)
    return kNever;
  // The step before on this position has ended when the position is free.
  if (step % 3 != kForward && next >= counts[step - 1])
    return kNever;
  if (step % 3 == kWeight)
    return free[position];
  return std::max(free[position], arrivalOf(step));
}

bool OrderState::drains(unsigned position, unsigned next,
                        const std::vector<char> *splits) const {
  const std::vector<unsigned> &stages = model->stagesAt[position];
  auto forwards = [&](unsigned stage) {
    return counts[3 * stage + kForward] + (stage == next);
  };
  auto backwards = [&](unsigned stage) {
    return counts[3 * stage + kBackward];
  };
  // Weight actions can always run, so what only they hold does not count.
  int64_t held = 0;
  for (unsigned stage : stages)
    held += int64_t(forwards(stage) - backwards(stage)) *
            model->loads[stage].residualBytes;
  const int64_t limit = model->limits[position];
  const unsigned first = stages.front();
  for (unsigned i = backwards(first); i < forwards(first); ++i) {
    for (unsigned stage : stages)
      if (forwards(stage) <= i)
        held += model->loads[stage].residualBytes;
    if (held > limit)
      return false;
    for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
      if (backwards(*stage) > i)
        continue;
      if (splits && (*splits)[*stage] && held + model->growth(*stage) > limit)
        return false;
      held -= model->loads[*stage].residualBytes;
    }
  }
  return true;
}

bool OrderState::fits(Step step, bool isSplit,
                      const std::vector<char> *splits) const {
  const unsigned position = model->positionOf[step / 3];
  const int64_t limit = model->limits[position];
  if (limit == kUnlimited || step % 3 == kWeight)
    return true;
  const StageLoad &load = model->loads[step / 3];
  if (step % 3 == kBackward)
    return !isSplit ||
           bytes[position] - load.residualBytes + load.weightBytes <= limit;
  return bytes[position] + load.residualBytes <= limit &&
         drains(position, step / 3, splits);
}

double OrderState::place(Step step, bool isSplit) {
  const unsigned stage = step / 3, kind = step % 3;
  const unsigned position = model->positionOf[stage];
  const size_t m = model->microBatches;
  const double end = startOf(step) + model->seconds(step, isSplit);
  free[position] = end;

  const StageLoad &load = model->loads[stage];
  if (kind == kForward)
    bytes[position] += load.residualBytes;
  else if (kind == kBackward)
    bytes[position] += (isSplit ? load.weightBytes : 0) - load.residualBytes;
  else
    bytes[position] -= load.weightBytes;

  const unsigned microBatch = counts[step]++;
  const bool isSent = kind == kForward    ? stage + 1 < model->stages
                      : kind == kBackward ? stage > 0
                                          : false;
  if (!isSent)
    return end;
  double arrival = end;
  if (const int edge = model->edgeOf[step]; edge >= 0)
    arrival = edgeFree[edge] =
        std::max(end, edgeFree[edge]) + model->sendSeconds(step);
  arrivals[size_t(kind == kForward ? step + 3 : step - 3) * m + microBatch] =
      arrival;
  return end;
}

double OrderState::end() const {
  return *std::max_element(free.begin(), free.end());
}

std::optional<OrderTimes> pp::timeOrder(const OrderModel &model,
                                        const Order &order) {
  OrderState state(model);
  OrderTimes times;
  times.starts.resize(model.positions);
  std::vector<size_t> next(model.positions);
  size_t left = 0;
  std::vector<unsigned> work;
  for (unsigned position = model.positions; position-- > 0;) {
    times.starts[position].resize(order.steps[position].size());
    left += order.steps[position].size();
    work.push_back(position);
  }
  while (!work.empty()) {
    const unsigned position = work.back();
    work.pop_back();
    const std::vector<Step> &steps = order.steps[position];
    while (next[position] < steps.size()) {
      const Step step = steps[next[position]];
      const double start = state.startOf(step);
      if (start == kNever)
        break;
      state.place(step, order.isSplit[step / 3]);
      if (state.bytesAt(position) > model.limits[position])
        return std::nullopt;
      times.starts[position][next[position]++] = start;
      --left;
      if (model.edgeOf[step] >= 0)
        work.push_back(model.positionOf[step % 3 == kForward ? step / 3 + 1
                                                             : step / 3 - 1]);
    }
  }
  if (left > 0)
    return std::nullopt;
  times.end = state.end();
  return times;
}
