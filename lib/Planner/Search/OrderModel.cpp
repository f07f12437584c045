//===- OrderModel.cpp - a placement in dense numbers ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "OrderModel.h"
#include <algorithm>
#include <map>

using namespace pp;

OrderModel::OrderModel(const ScheduleSearchProblem &problem,
                       const Placement &placement)
    : stages(unsigned(placement.loads.size())), positions(problem.positions),
      microBatches(problem.microBatches), loads(placement.loads),
      positionOf(placement.positionOf), stagesAt(positions),
      edgeOf(3 * size_t(stages), -1), limits(problem.limits) {
  std::map<std::pair<unsigned, unsigned>, int> numbers;
  auto connect = [&](unsigned stage, unsigned kind, unsigned next) {
    const std::pair<unsigned, unsigned> edge{positionOf[stage],
                                             positionOf[next]};
    if (edge.first != edge.second)
      edgeOf[3 * stage + kind] =
          numbers.emplace(edge, int(numbers.size())).first->second;
  };
  for (unsigned stage = 0; stage < stages; ++stage) {
    stagesAt[positionOf[stage]].push_back(stage);
    if (stage + 1 < stages)
      connect(stage, kForward, stage + 1);
    if (stage > 0)
      connect(stage, kBackward, stage - 1);
  }
  edges = unsigned(numbers.size());

  limits.resize(positions, kUnlimited);
  for (unsigned position = 0; position < positions; ++position) {
    double most = 0;
    for (unsigned stage : stagesAt[position])
      most += double(microBatches) * double(std::max(loads[stage].residualBytes,
                                                     loads[stage].weightBytes));
    if (most <= double(limits[position]))
      limits[position] = kUnlimited;
  }
}

double OrderModel::seconds(Step step, bool isSplit) const {
  const StageLoad &load = loads[step / 3];
  if (step % 3 == kForward)
    return load.forwardSeconds;
  if (step % 3 == kWeight)
    return load.weightSeconds;
  return isSplit ? load.backwardSeconds : load.mergedSeconds;
}

double OrderModel::leastBackward(unsigned stage, Mode mode) const {
  const StageLoad &load = loads[stage];
  return mode == Split    ? load.backwardSeconds
         : mode == Merged ? load.mergedSeconds
                          : std::min(load.backwardSeconds, load.mergedSeconds);
}

double OrderModel::leastGradients(unsigned stage, Mode mode) const {
  const StageLoad &load = loads[stage];
  const double apart = load.backwardSeconds + load.weightSeconds;
  return mode == Split    ? apart
         : mode == Merged ? load.mergedSeconds
                          : std::min(apart, load.mergedSeconds);
}

Mode OrderModel::bestMode(unsigned stage) const {
  const StageLoad &load = loads[stage];
  if (load.mergedSeconds <= load.backwardSeconds)
    return Merged;
  const bool isLonger =
      load.mergedSeconds >= load.backwardSeconds + load.weightSeconds;
  return isLonger && growth(stage) == 0 ? Split : Open;
}

schedule::Schedule pp::toSchedule(const OrderModel &model, const Order &order) {
  constexpr schedule::Kind kKinds[] = {schedule::Kind::Forward,
                                       schedule::Kind::Backward,
                                       schedule::Kind::Weight};
  schedule::Schedule schedule{"auto", model.stages, model.microBatches, {}};
  for (const std::vector<Step> &steps : order.steps) {
    std::vector<schedule::Action> &actions = schedule.ranks.emplace_back();
    std::vector<unsigned> count(3 * size_t(model.stages));
    for (Step step : steps)
      actions.push_back({step / 3, kKinds[step % 3], count[step]++});
  }
  return schedule;
}

Order pp::toOrder(const OrderModel &model, schedule::Schedule schedule) {
  schedule::completeWeights(schedule);
  Order order{std::vector<char>(model.stages), {}};
  for (const std::vector<schedule::Action> &actions : schedule.ranks) {
    std::vector<Step> &steps = order.steps.emplace_back();
    for (const schedule::Action &action : actions) {
      const unsigned kind = action.kind == schedule::Kind::Forward ? kForward
                            : action.kind == schedule::Kind::Backward
                                ? kBackward
                                : kWeight;
      steps.push_back(3 * action.stage + kind);
      if (kind == kWeight)
        order.isSplit[action.stage] = true;
    }
  }
  return order;
}
