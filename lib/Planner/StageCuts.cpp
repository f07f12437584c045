//===- StageCuts.cpp - cuts a model into stages ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A step lasts as long as its slowest stage in each micro-batch, and as the way
// through all of them once. So for each of some bounds on the slowest stage the
// cuts with the cheapest messages are found, by dynamic programming; simulating
// the schedule picks one, and then moves single cuts while that helps. Time:
// bounds x stages x ops, and a constant number of simulated actions.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/StageCuts.h"
#include "pp/Schedule/Algorithms.h"
#include "pp/Schedule/Simulate.h"
#include <deque>
#include <limits>

using namespace mlir;
using namespace pp;

/// Bounds on the slowest stage, in units of the mean: close where balance is
/// worth most, and beyond them by doubling.
static constexpr double kBounds[] = {1.01, 1.02, 1.04, 1.06, 1.08, 1.1,
                                     1.13, 1.16, 1.2,  1.25, 1.3,  1.4,
                                     1.5,  1.6,  1.8,  2.0,  2.4,  3.0};

/// Limit of simulated actions for moving cuts. Stages with more ops have little
/// to gain.
static constexpr double kActionsToMove = 1e6;

namespace {

/// The cheapest messages with stages of at most some seconds.
class BoundedCuts {
public:
  BoundedCuts(const StageCosts &costs, int64_t stages)
      : costs(costs), stages(stages) {}

  /// Nothing if no cuts keep the bound.
  std::optional<SmallVector<int64_t>> find(double bound) const;

private:
  /// Adds one more stage, which ends at `end`, to the costs of the stages
  /// before.
  void addStage(double bound, ArrayRef<double> before,
                MutableArrayRef<double> after,
                MutableArrayRef<int32_t> begins) const;

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const StageCosts &costs;
  const int64_t stages;
};

/// The stage that ends at `end` begins in a window: not so early that it would
/// exceed the bound, nor so late that it would have no work. Both ends only
/// move forwards with `end`, so that a queue of rising costs has the cheapest
/// begin in front.
void BoundedCuts::addStage(double bound, ArrayRef<double> before,
                           MutableArrayRef<double> after,
                           MutableArrayRef<int32_t> begins) const {
  std::deque<int64_t> queue;
  auto costOf = [&](int64_t begin) {
    return before[begin] + (begin ? costs.crossing[begin] : 0);
  };
  int64_t next = 0;
  for (int64_t end = 0; end <= costs.size(); ++end) {
    after[end] = kInfinity;
    for (; next < end && costs.work[next] < costs.work[end]; ++next) {
      if (before[next] == kInfinity)
        continue;
      while (!queue.empty() && costOf(queue.back()) > costOf(next))
        queue.pop_back();
      queue.push_back(next);
    }
    while (!queue.empty() && costs.compute(queue.front(), end) > bound)
      queue.pop_front();
    if (queue.empty())
      continue;
    after[end] = costOf(queue.front());
    begins[end] = int32_t(queue.front());
  }
}

std::optional<SmallVector<int64_t>> BoundedCuts::find(double bound) const {
  const size_t ends = size_t(costs.size()) + 1;
  std::vector<double> before(ends, kInfinity), after(ends);
  before[0] = 0;
  std::vector<std::vector<int32_t>> begins(stages,
                                           std::vector<int32_t>(ends, 0));
  for (int64_t stage = 0; stage < stages; ++stage) {
    addStage(bound, before, after, begins[stage]);
    std::swap(before, after);
  }
  if (before.back() == kInfinity)
    return std::nullopt;
  SmallVector<int64_t> cuts(stages - 1);
  for (int64_t stage = stages - 1, end = costs.size(); stage > 0; --stage)
    cuts[stage - 1] = end = begins[stage][end];
  return cuts;
}

} // namespace

/// The seconds of each stage.
static SmallVector<double> secondsOfStages(const StageCosts &costs,
                                           ArrayRef<int64_t> cuts) {
  SmallVector<double> seconds;
  int64_t begin = 0;
  for (int64_t cut : cuts) {
    seconds.push_back(costs.compute(begin, cut));
    begin = cut;
  }
  seconds.push_back(costs.compute(begin, costs.size()));
  return seconds;
}

double pp::simulateCuts(const StageCosts &costs, ArrayRef<int64_t> cuts,
                        const schedule::Schedule &order, int64_t microBatches) {
  auto beginOf = [&](unsigned stage) { return stage ? cuts[stage - 1] : 0; };
  auto endOf = [&](unsigned stage) {
    return stage < cuts.size() ? cuts[stage] : costs.size();
  };
  schedule::Durations durations;
  durations.action = [&](const schedule::Action &action, bool) {
    const std::vector<double> &sums =
        action.kind == schedule::Kind::Forward ? costs.forward : costs.backward;
    return sums[endOf(action.stage)] - sums[beginOf(action.stage)];
  };
  durations.transfer = [&](const schedule::Action &from,
                           const schedule::Action &to) {
    return costs.crossing[beginOf(std::max(from.stage, to.stage))];
  };
  // Each micro-batch more is one more of the slowest stage's.
  return schedule::simulate(order, durations).end +
         *llvm::max_element(secondsOfStages(costs, cuts)) *
             double(microBatches - order.microBatches);
}

namespace {

/// The best cuts so far, by simulation.
class CutSearch {
public:
  CutSearch(const StageCosts &costs, const schedule::Schedule &order,
            int64_t microBatches)
      : costs(costs), order(order), microBatches(microBatches) {}

  /// Whether `cuts` are better: shorter, or as short and more even.
  bool consider(ArrayRef<int64_t> cuts);
  void moveCuts();
  const SmallVector<int64_t> &best() const { return bestCuts; }

private:
  bool moveOne(size_t index);
  bool leavesNoStageEmpty(ArrayRef<int64_t> cuts) const;

  const StageCosts &costs;
  const schedule::Schedule &order;
  const int64_t microBatches;
  SmallVector<int64_t> bestCuts;
  double least = std::numeric_limits<double>::infinity();
  double unevenness = std::numeric_limits<double>::infinity();
  double simulated = 0;
};

bool CutSearch::consider(ArrayRef<int64_t> cuts) {
  if (cuts == ArrayRef<int64_t>(bestCuts))
    return false;
  for (const std::vector<schedule::Action> &actions : order.ranks)
    simulated += double(actions.size());
  const double seconds = simulateCuts(costs, cuts, order, microBatches);
  double squares = 0; // least where all stages are alike
  for (double stage : secondsOfStages(costs, cuts))
    squares += stage * stage;
  // Rounding decides nothing.
  constexpr double kLess = 1 - 1e-9;
  const bool isShorter = seconds < least * kLess;
  const bool isTie = seconds * kLess <= least;
  if (!isShorter && !(isTie && squares < unevenness * kLess))
    return false;
  bestCuts.assign(cuts.begin(), cuts.end());
  least = std::min(least, seconds);
  unevenness = squares;
  return true;
}

bool CutSearch::leavesNoStageEmpty(ArrayRef<int64_t> cuts) const {
  int64_t begin = 0;
  for (int64_t cut : cuts) {
    if (cut <= begin || cut >= costs.size() ||
        costs.work[cut] == costs.work[begin])
      return false;
    begin = cut;
  }
  return costs.work[begin] < costs.work.back();
}

/// Tries steps of all sizes, in both directions.
bool CutSearch::moveOne(size_t index) {
  bool isBetter = false;
  const SmallVector<int64_t> from(bestCuts);
  for (int64_t distance = 1; distance < costs.size(); distance *= 2)
    for (int64_t step : {-distance, distance}) {
      SmallVector<int64_t> cuts(from);
      cuts[index] += step;
      if (simulated < kActionsToMove && leavesNoStageEmpty(cuts))
        isBetter |= consider(cuts);
    }
  return isBetter;
}

void CutSearch::moveCuts() {
  simulated = 0;
  for (bool isBetter = true; isBetter;) {
    isBetter = false;
    for (size_t index = 0; index < bestCuts.size(); ++index)
      isBetter |= moveOne(index);
  }
}

} // namespace

FailureOr<SmallVector<int64_t>>
pp::chooseStageCuts(func::FuncOp main, const StageCutProblem &problem) {
  const int64_t stages = problem.stages(),
                microBatches = problem.microBatches();
  if (stages == 1)
    return SmallVector<int64_t>();
  FailureOr<StageCosts> costs = measureStages(main, problem);
  if (failed(costs))
    return failure();
  if (costs->work.back() < stages)
    return main.emitError("expects at most ")
           << costs->work.back()
           << " stages, one for each forward op between an input and the loss, "
              "got "
           << stages << ": a stage would be empty";

  // A pipeline is in its stride after a few rounds.
  schedule::ScheduleProblem orders;
  orders.ranks = unsigned(stages);
  orders.microBatches = unsigned(std::min(microBatches, 4 * stages));
  std::string error;
  auto order =
      schedule::generate(problem.plan.getSchedule().str(), orders, error);
  if (!order)
    return main.emitError(error);

  CutSearch search(*costs, *order, microBatches);
  const double total = costs->compute(0, costs->size());
  auto tryBound = [&](double bound) {
    if (auto cuts = BoundedCuts(*costs, stages).find(bound))
      search.consider(*cuts);
  };
  for (double factor : kBounds)
    tryBound(factor * total / double(stages));
  for (double factor = 4; factor < double(stages); factor *= 2)
    tryBound(factor * total / double(stages));
  tryBound(std::numeric_limits<double>::infinity());
  search.moveCuts();
  return search.best();
}
