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
  Bound(const OrderModel &model, const std::vector<double> &toEnd,
        const PartialOrder &partial)
      : model(model), toEnd(toEnd), state(partial.state), modes(partial.modes),
        ready(toEnd.size(), kNever) {}

  double find() {
    double bound = std::max({state.end(), followForward(), followBackward()});
    for (unsigned position = 0; position < model.positions; ++position)
      bound = std::max(bound, finishAlone(position));
    return bound;
  }

private:
  unsigned left(Step step) const {
    return model.microBatches - state.count(step);
  }
  double startOf(Step step, Step before, double ownReady) const;
  double followForward();
  double followBackward();
  double finishAlone(unsigned position) const;

  const OrderModel &model;
  const std::vector<double> &toEnd;
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
    bound = std::max(bound,
                     ready[step] +
                         (left(step) - 1) * model.loads[stage].forwardSeconds +
                         toEnd[step]);
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
    bound = std::max(bound, ready[step] +
                                (left(step) - 1) * model.leastBackward(stage) +
                                toEnd[step]);
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
      tail = std::min(tail, stage > 0 ? model.sendSeconds(backward) +
                                            toEnd[backward - 3]
                                      : 0);
  }
  if (begin == kNever)
    return 0;
  return begin + work + (tail == kNever ? weights : std::max(weights, tail));
}

} // namespace

double pp::leastSeconds(const OrderModel &model,
                        const std::vector<double> &toEnd,
                        const PartialOrder &partial) {
  return Bound(model, toEnd, partial).find();
}
