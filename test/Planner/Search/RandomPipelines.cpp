//===- RandomPipelines.cpp - problems for the schedule search -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "RandomPipelines.h"
#include <algorithm>
#include <random>

using namespace pp;

namespace {

/// std::mt19937 gives the same everywhere, the distributions do not.
class Dice {
public:
  explicit Dice(unsigned number) : engine(number) {}
  int whole(int least, int most) {
    return least + int(engine() % unsigned(most - least + 1));
  }
  double real(double least, double most) {
    return least + (most - least) * (engine() / 4294967296.0);
  }

private:
  std::mt19937 engine;
};

} // namespace

/// What a position holds of one micro-batch.
static int64_t bytesAt(const Placement &placement, unsigned position) {
  int64_t bytes = 0;
  for (size_t stage = 0; stage < placement.loads.size(); ++stage)
    if (placement.positionOf[stage] == position)
      bytes += placement.loads[stage].residualBytes;
  return bytes;
}

static unsigned place(unsigned stage, unsigned positions, bool isVee) {
  const unsigned position = stage % positions;
  return isVee && stage / positions % 2 ? positions - 1 - position : position;
}

ScheduleSearchProblem pp::makeSmallPipeline(unsigned number) {
  constexpr unsigned kShapes[][3] = {
      {1, 12, 1}, {2, 6, 1}, {3, 4, 1}, {4, 3, 1}, {6, 2, 1},
      {8, 1, 1},  {2, 5, 1}, {3, 3, 1}, {5, 2, 1}, {2, 3, 2},
      {3, 2, 2},  {2, 2, 3}, {2, 4, 1}};
  Dice dice(number);
  const auto &[positions, microBatches, chunks] =
      kShapes[number % std::size(kShapes)];
  ScheduleSearchProblem problem;
  problem.positions = positions;
  problem.microBatches = microBatches;
  Placement placement;
  const bool hasMessages = dice.whole(0, 2), isMergedShort = dice.whole(0, 1);
  const bool growsWhenSplit = dice.whole(0, 2) == 0, isVee = dice.whole(0, 1);
  for (unsigned stage = 0; stage < positions * chunks; ++stage) {
    StageLoad load;
    load.forwardSeconds = dice.whole(1, 9);
    load.backwardSeconds = dice.whole(1, 9);
    load.weightSeconds = dice.whole(0, 9);
    load.mergedSeconds =
        std::max(1.0, load.backwardSeconds + load.weightSeconds -
                          (isMergedShort ? dice.whole(0, 2) : 0));
    if (hasMessages) {
      load.sendForwardSeconds = dice.whole(0, 5);
      load.sendBackwardSeconds = dice.whole(0, 5);
    }
    load.residualBytes = dice.whole(1, 9);
    load.weightBytes =
        dice.whole(0, growsWhenSplit ? 12 : int(load.residualBytes));
    placement.loads.push_back(load);
    placement.positionOf.push_back(place(stage, positions, isVee));
  }
  if (dice.whole(0, 2))
    for (unsigned position = 0; position < positions; ++position)
      problem.limits.push_back(bytesAt(placement, position) *
                               dice.whole(10, 35) / 10);
  problem.placements.push_back(std::move(placement));
  return problem;
}

ScheduleSearchProblem pp::makePipeline(unsigned number, unsigned positions,
                                       unsigned microBatches, unsigned chunks) {
  Dice dice(number);
  ScheduleSearchProblem problem;
  problem.positions = positions;
  problem.microBatches = microBatches;
  Placement placement;
  const double spread = dice.real(0, 0.6), send = dice.real(0, 0.5);
  const double merging = dice.whole(0, 1) ? 1 : 0.95;
  const int limits = dice.whole(0, 3);
  for (unsigned stage = 0; stage < positions * chunks; ++stage) {
    StageLoad load;
    const double seconds = 1 + dice.real(-spread, spread);
    load.forwardSeconds = seconds;
    load.backwardSeconds = seconds * dice.real(0.8, 1.4);
    load.weightSeconds = seconds * dice.real(0.5, 1.1);
    load.mergedSeconds = merging * (load.backwardSeconds + load.weightSeconds);
    load.sendForwardSeconds = dice.real(0, send);
    load.sendBackwardSeconds = dice.real(0, send);
    load.residualBytes = dice.whole(100, 150);
    load.weightBytes =
        limits == 3 ? load.residualBytes + dice.whole(0, 30)
                    : int64_t(double(load.residualBytes) * dice.real(0.2, 1));
    placement.loads.push_back(load);
    placement.positionOf.push_back(place(stage, positions, chunks == 2));
  }
  for (unsigned position = 0; position < positions && limits; ++position) {
    const double count =
        limits == 1 ? positions - position + 1 : dice.real(2, 2.0 * positions);
    problem.limits.push_back(
        int64_t(double(bytesAt(placement, position)) * count));
  }
  problem.placements.push_back(std::move(placement));
  return problem;
}

ScheduleSearchProblem pp::makeTight(unsigned number, unsigned chunks,
                                    int64_t percent, bool countsWeights) {
  ScheduleSearchProblem problem = makePipeline(number, 3, 6, chunks);
  Placement &placement = problem.placements[0];
  problem.limits.assign(3, 0);
  for (size_t stage = 0; stage < placement.loads.size(); ++stage) {
    StageLoad &load = placement.loads[stage];
    if (number % 2)
      load.weightBytes = load.residualBytes * 5 / 4;
    problem.limits[placement.positionOf[stage]] +=
        countsWeights ? std::max(load.residualBytes, load.weightBytes)
                      : load.residualBytes;
  }
  for (int64_t &limit : problem.limits)
    limit = limit * percent / 100;
  return problem;
}

Placement pp::makeUnitPlacement(unsigned positions, unsigned chunks) {
  Placement placement;
  for (unsigned stage = 0; stage < positions * chunks; ++stage) {
    StageLoad load;
    load.forwardSeconds = load.backwardSeconds = load.weightSeconds =
        1.0 / chunks;
    load.mergedSeconds = 2.0 / chunks;
    load.residualBytes = load.weightBytes = 120 / chunks;
    placement.loads.push_back(load);
    placement.positionOf.push_back(place(stage, positions, chunks == 2));
  }
  return placement;
}
