//===- ListOrder.cpp - orders by a rule -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The position whose next action can end first decides (Giffler and Thompson,
// 1960): nothing that has not been placed yet can reach it before that. What is
// known of a position changes only when it or a neighbour gets an action, so it
// is kept until then.
//
//===----------------------------------------------------------------------===//
#include "ListOrder.h"
#include <algorithm>

using namespace pp;

namespace {

class Lister {
public:
  Lister(const OrderModel &model, const ListRule &rule)
      : model(model), rule(rule), state(model), firsts(model.positions) {}

  std::optional<Order> run();

private:
  /// The earliest start and end among a position's next actions.
  struct First {
    double start = kNever, end = kNever;
  };

  bool mayPlace(Step step) const;
  First findFirst(unsigned position) const;
  Step choose(unsigned position) const;
  double priorityOf(Step step) const;

  template <typename Visit>
  void forSteps(unsigned position, Visit visit) const {
    for (unsigned stage : model.stagesAt[position])
      for (Step step = 3 * stage; step <= 3 * stage + kWeight; ++step)
        if (step % 3 != kWeight || rule.isSplit[stage])
          if (const double start = state.startOf(step);
              start != kNever && mayPlace(step))
            visit(step, start);
  }

  const OrderModel &model;
  const ListRule &rule;
  OrderState state;
  std::vector<First> firsts;
};

bool Lister::mayPlace(Step step) const {
  const unsigned stage = step / 3;
  if (step % 3 == kForward && model.isFirstAt(stage) &&
      state.count(step) - state.count(step + 1) >=
          rule.knobs[model.positionOf[stage]].inFlight)
    return false;
  return state.fits(step, rule.isSplit[stage], &rule.isSplit);
}

Lister::First Lister::findFirst(unsigned position) const {
  First first;
  forSteps(position, [&](Step step, double start) {
    first.start = std::min(first.start, start);
    first.end = std::min(first.end,
                         start + model.seconds(step, rule.isSplit[step / 3]));
  });
  return first;
}

double Lister::priorityOf(Step step) const {
  const unsigned kind = step % 3, stage = step / 3;
  const Knobs &knobs = rule.knobs[model.positionOf[stage]];
  if (!rule.priorities.empty())
    return rule
        .priorities[size_t(step) * model.microBatches + state.count(step)];
  // Kinds first, then micro-batches or stages.
  double level = kind == kBackward ? 1 : kind == kForward ? 2 : 3;
  if (kind == kForward && knobs.isForwardFirst)
    level = 0;
  if (kind == kWeight && state.count(step - 1) - state.count(step) > knobs.due)
    level = 1.5;
  const double age = double(state.count(step)) / model.microBatches;
  const double way = 1 - double(stage) / model.stages;
  return level + (knobs.isOldestFirst ? 0.4 * age + 1e-4 * way
                                      : 0.4 * way + 1e-5 * age);
}

Step Lister::choose(unsigned position) const {
  const First &first = firsts[position];
  const double until =
      first.start + rule.knobs[position].patience * (first.end - first.start);
  Step best = ~0u;
  double least = kNever;
  forSteps(position, [&](Step step, double start) {
    if (start > first.start && start >= until)
      return;
    const double priority = priorityOf(step);
    if (best == ~0u || priority < least) {
      best = step;
      least = priority;
    }
  });
  return best;
}

std::optional<Order> Lister::run() {
  Order order{rule.isSplit, std::vector<std::vector<Step>>(model.positions)};
  size_t left = 0;
  for (unsigned stage = 0; stage < model.stages; ++stage)
    left += size_t(model.microBatches) * (rule.isSplit[stage] ? 3 : 2);
  for (unsigned position = 0; position < model.positions; ++position)
    firsts[position] = findFirst(position);
  for (; left > 0; --left) {
    const unsigned position =
        unsigned(std::min_element(firsts.begin(), firsts.end(),
                                  [](const First &a, const First &b) {
                                    return a.end < b.end;
                                  }) -
                 firsts.begin());
    if (firsts[position].end == kNever)
      return std::nullopt;
    const Step step = choose(position);
    state.place(step, rule.isSplit[step / 3]);
    order.steps[position].push_back(step);
    firsts[position] = findFirst(position);
    if (model.edgeOf[step] >= 0) {
      const unsigned neighbour =
          model.positionOf[step % 3 == kForward ? step / 3 + 1 : step / 3 - 1];
      firsts[neighbour] = findFirst(neighbour);
    }
  }
  return order;
}

} // namespace

std::optional<Order> pp::listOrder(const OrderModel &model,
                                   const ListRule &rule) {
  return Lister(model, rule).run();
}
