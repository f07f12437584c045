//===- PartialOrder.cpp - an order that may still become any --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A partial order grows where an action can end first (Giffler and Thompson,
// 1960): if none of the actions that can start there before that end came next,
// the one that ends first would fit in before what does, and nothing would be
// later. That is no reason where to come earlier costs others something:
// memory, or their place on an edge. There one more branch keeps them all
// waiting until the position has run something else.
//
//===----------------------------------------------------------------------===//
#include "PartialOrder.h"
#include <algorithm>

using namespace pp;

namespace {

/// An action that may be next.
struct Option {
  Step step;
  double start, end; ///< `end` in the shorter of the forms it may have
};

} // namespace

PartialOrder pp::beginOrder(const OrderModel &model) {
  PartialOrder partial{OrderState(model), {}, 0};
  for (unsigned stage = 0; stage < model.stages; ++stage)
    partial.modes.push_back(model.bestMode(stage));
  return partial;
}

bool pp::isComplete(const OrderModel &model, const PartialOrder &partial) {
  for (unsigned stage = 0; stage < model.stages; ++stage)
    if (partial.state.count(3 * stage + kBackward) < model.microBatches ||
        (partial.modes[stage] == Split &&
         partial.state.count(3 * stage + kWeight) < model.microBatches))
      return false;
  return true;
}

void pp::placeNext(const OrderModel &model, PartialOrder &partial, Step step,
                   Mode mode) {
  partial.modes[step / 3] = mode;
  partial.state.place(step, mode == Split);
  for (unsigned stage : model.stagesAt[model.positionOf[step / 3]])
    partial.waits &= ~(uint64_t(7) << 3 * stage);
}

/// In the shorter of the forms it may have.
static double secondsOf(const OrderModel &model, const PartialOrder &partial,
                        Step step) {
  const Mode mode = partial.modes[step / 3];
  return step % 3 == kBackward ? model.leastBackward(step / 3, mode)
                               : model.seconds(step, mode == Split);
}

/// Whether to come earlier on its position costs nothing else anything: it must
/// end before what comes now, in either form.
static bool isShiftable(const OrderModel &model, const PartialOrder &partial,
                        Step step) {
  const unsigned stage = step / 3;
  if (step % 3 == kWeight)
    return true;
  if (step % 3 == kBackward && partial.modes[stage] == Open)
    return false;
  if (model.limits[model.positionOf[stage]] != kUnlimited &&
      (step % 3 == kForward ||
       (partial.modes[stage] == Split && model.growth(stage) > 0)))
    return false;
  if (model.edgeOf[step] < 0 || model.sendSeconds(step) <= 0)
    return true;
  for (Step other = 0; other < model.edgeOf.size(); ++other)
    if (other != step && model.edgeOf[other] == model.edgeOf[step])
      return false;
  return true;
}

Continuations pp::findContinuations(const OrderModel &model,
                                    const PartialOrder &partial) {
  std::vector<Option> options;
  for (Step step = 0; step < 3 * model.stages; ++step) {
    const double start = partial.state.startOf(step);
    const Mode mode = partial.modes[step / 3];
    if (start == kNever || partial.waits >> step & 1 ||
        (step % 3 == kWeight && mode != Split) ||
        !partial.state.fits(step, mode == Split))
      continue;
    options.push_back({step, start, start + secondsOf(model, partial, step)});
  }
  const Option *first = nullptr;
  for (const Option &option : options)
    if (!first || option.end < first->end ||
        (option.end == first->end && !isShiftable(model, partial, first->step)))
      first = &option;
  if (!first)
    return {}; // every position that is not done waits
  const unsigned position = model.positionOf[first->step / 3];
  std::vector<Option> next;
  Continuations continuations;
  for (const Option &option : options)
    if (model.positionOf[option.step / 3] == position &&
        (option.step == first->step || option.start < first->end)) {
      next.push_back(option);
      continuations.waits |= uint64_t(1) << option.step;
    }
  if (isShiftable(model, partial, first->step))
    continuations.waits = 0;
  std::sort(next.begin(), next.end(), [](const Option &a, const Option &b) {
    constexpr int kRank[] = {1, 0, 2};
    return std::make_pair(kRank[a.step % 3], a.start) <
           std::make_pair(kRank[b.step % 3], b.start);
  });
  for (const Option &option : next) {
    const Step step = option.step;
    const Mode mode = partial.modes[step / 3];
    if (step % 3 != kBackward || mode != Open) {
      continuations.actions.push_back({step, mode});
      continue;
    }
    if (partial.state.fits(step, true))
      continuations.actions.push_back({step, Split});
    continuations.actions.push_back({step, Merged});
  }
  return continuations;
}

std::string pp::actionsOf(const OrderModel &model,
                          const PartialOrder &partial) {
  std::string actions(partial.modes.begin(), partial.modes.end());
  for (Step step = 0; step < 3 * model.stages; ++step)
    for (unsigned count = partial.state.count(step), i = 0; i < 2; ++i) {
      actions.push_back(char(count));
      count >>= 8;
    }
  return actions;
}

std::vector<double> pp::timesOf(const OrderModel &model,
                                const PartialOrder &partial) {
  const OrderState &state = partial.state;
  std::vector<double> times;
  for (unsigned position = 0; position < model.positions; ++position)
    times.push_back(state.freeAt(position));
  for (unsigned edge = 0; edge < model.edges; ++edge)
    times.push_back(state.edgeFreeAt(edge));
  // What has arrived and not been used. Nothing arrives out of turn.
  for (Step step = 0; step < 3 * model.stages; ++step) {
    if (step % 3 == kWeight || step == kForward || step == 3 * model.stages - 2)
      continue;
    const double free = state.freeAt(model.positionOf[step / 3]);
    for (unsigned i = state.count(step); i < model.microBatches; ++i) {
      const double arrival = state.arrivalOf(step, i);
      if (arrival == kNever)
        break;
      times.push_back(std::max(free, arrival));
    }
  }
  return times;
}

bool pp::isNoLater(const std::vector<double> &times,
                   const std::vector<double> &others) {
  return std::equal(times.begin(), times.end(), others.begin(),
                    [](double a, double b) { return a <= b; });
}
