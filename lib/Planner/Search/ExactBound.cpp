//===- ExactBound.cpp - what no continuation can beat ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What is left on each position behind the first that it can go on with, and
// what is left of the way of the next and the last micro-batch.
//
//===----------------------------------------------------------------------===//
#include "ExactBound.h"
#include <algorithm>

using namespace pp;

namespace {

class Bound {
public:
  Bound(const OrderModel &model, const HeadsAndTails &times,
        const PartialOrder &partial)
      : model(model), times(times), state(partial.state), modes(partial.modes),
        ready(3 * size_t(model.stages), kNever) {}

  PartialBound find() {
    PartialBound bound;
    bound.seconds = std::max({state.end(), followForward(), followBackward()});
    for (unsigned position = 0; position < model.positions; ++position) {
      const double own =
          std::max(state.freeAt(position), finishAlone(position));
      bound.seconds = std::max(bound.seconds, own);
      bound.mean += own / model.positions;
    }
    return bound;
  }

private:
  unsigned left(Step step) const {
    return model.microBatches - state.count(step);
  }
  double endAfter(Step step) const {
    return ready[step] + times.seconds(step) +
           times.tail(step, state.count(step));
  }
  double startOf(Step step, Step before, double ownReady) const;
  double followForward();
  double followBackward();
  double finishAlone(unsigned position) const;

  const OrderModel &model;
  const HeadsAndTails &times;
  const OrderState &state;
  const std::vector<Mode> &modes;
  std::vector<double> ready; ///< by step: when its next action can start
};

/// When the next action of `step` can start: what it needs, an action of the
/// step `before`, is on its way, or comes behind others of its kind.
double Bound::startOf(Step step, Step before, double ownReady) const {
  const double start =
      std::max(state.freeAt(model.positionOf[step / 3]), ownReady);
  if (const double arrival = state.arrivalOf(step); arrival != kNever)
    return std::max(start, arrival);
  const double ahead = state.count(step) - state.count(before) + 1;
  const double each = before % 3 == kForward
                          ? model.loads[before / 3].forwardSeconds
                          : model.leastBackward(before / 3);
  return std::max(start,
                  ready[before] + ahead * each + model.sendSeconds(before));
}

double Bound::followForward() {
  double bound = 0;
  for (unsigned stage = 0; stage < model.stages; ++stage) {
    const Step step = 3 * stage + kForward;
    if (left(step) == 0)
      continue;
    ready[step] = startOf(step, step - 3, 0);
    bound = std::max(bound, endAfter(step));
  }
  return bound;
}

double Bound::followBackward() {
  double bound = 0;
  for (unsigned stage = model.stages; stage-- > 0;) {
    const Step step = 3 * stage + kBackward;
    if (left(step) == 0)
      continue;
    double own = 0;
    if (state.count(step) >= state.count(step - 1))
      own = ready[step - 1] + model.loads[stage].forwardSeconds;
    ready[step] = startOf(step, step + 3, own);
    bound = std::max(bound, endAfter(step));
  }
  return bound;
}

double Bound::finishAlone(unsigned position) const {
  // The tail is the shortest way back behind any last backward action.
  double begin = kNever, work = 0, weights = 0, tail = kNever;
  for (unsigned stage : model.stagesAt[position]) {
    const Step forward = 3 * stage, backward = forward + kBackward,
               weight = forward + kWeight;
    const Mode mode = modes[stage];
    begin = std::min({begin, ready[forward], ready[backward]});
    if (mode == Split && left(weight) > left(backward))
      begin = state.freeAt(position);
    work += left(forward) * model.loads[stage].forwardSeconds;
    if (mode == Open) {
      work += left(backward) * model.leastBackward(stage);
      weights += left(backward) *
                 (model.leastGradients(stage) - model.leastBackward(stage));
    } else {
      work += left(backward) * model.seconds(backward, mode == Split);
      weights +=
          mode == Split ? left(weight) * model.loads[stage].weightSeconds : 0;
    }
    if (left(backward) > 0)
      tail = std::min(
          tail, stage > 0 ? model.sendSeconds(backward) +
                                times.seconds(backward - 3) +
                                times.tail(backward - 3, model.microBatches - 1)
                          : 0);
  }
  if (begin == kNever)
    return 0;
  return begin + work + (tail == kNever ? weights : std::max(weights, tail));
}

} // namespace

PartialBound pp::boundOf(const OrderModel &model, const HeadsAndTails &times,
                         const PartialOrder &partial) {
  return Bound(model, times, partial).find();
}
