//===- CutSearch.cpp - searches the best stage cuts -----------------------===//
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
#include "pp/Planner/CutSearch.h"
#include "pp/Schedule/Algorithms.h"
#include "pp/Schedule/Simulate.h"
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

using namespace pp;

using Cuts = std::vector<int64_t>;

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
  std::optional<Cuts> find(double bound) const;

private:
  /// Adds one more stage, which ends at `end`, to the costs of the stages
  /// before.
  void addStage(double bound, const std::vector<double> &before,
                std::vector<double> &after, std::vector<int32_t> &begins) const;

  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const StageCosts &costs;
  const int64_t stages;
};

/// The stage that ends at `end` begins in a window: not so early that it would
/// exceed the bound, nor so late that it would have no work. Both ends only
/// move forwards with `end`, so that a queue of rising costs has the cheapest
/// begin in front.
void BoundedCuts::addStage(double bound, const std::vector<double> &before,
                           std::vector<double> &after,
                           std::vector<int32_t> &begins) const {
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

std::optional<Cuts> BoundedCuts::find(double bound) const {
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
  Cuts cuts(stages - 1);
  for (int64_t stage = stages - 1, end = costs.size(); stage > 0; --stage)
    cuts[stage - 1] = end = begins[stage][end];
  return cuts;
}

} // namespace

/// The seconds of each stage.
static std::vector<double> secondsOfStages(const StageCosts &costs,
                                           const Cuts &cuts) {
  std::vector<double> seconds;
  int64_t begin = 0;
  for (int64_t cut : cuts) {
    seconds.push_back(costs.compute(begin, cut));
    begin = cut;
  }
  seconds.push_back(costs.compute(begin, costs.size()));
  return seconds;
}

std::vector<StageLoad> pp::loadStages(const StageCosts &costs,
                                      const Cuts &cuts) {
  std::vector<StageLoad> loads(cuts.size() + 1);
  for (size_t stage = 0; stage < loads.size(); ++stage) {
    const int64_t begin = stage > 0 ? cuts[stage - 1] : 0;
    const bool isLast = stage == cuts.size();
    const int64_t end = isLast ? costs.size() : cuts[stage];
    auto sum = [&](const std::vector<double> &sums) {
      return sums[end] - sums[begin];
    };
    StageLoad &load = loads[stage];
    load.forwardSeconds = sum(costs.forward);
    load.mergedSeconds = sum(costs.backward);
    load.weightSeconds = sum(costs.weight);
    load.backwardSeconds =
        std::max(0.0, load.mergedSeconds - load.weightSeconds);
    load.sendForwardSeconds = isLast ? 0 : costs.crossing[end];
    load.sendBackwardSeconds = stage > 0 ? costs.crossing[begin] : 0;
    load.residualBytes = int64_t(sum(costs.residualBytes) +
                                 (stage > 0 ? costs.crossingBytes[begin] : 0));
    load.weightBytes = int64_t(sum(costs.weightBytes));
  }
  return loads;
}

double pp::simulateCuts(const StageCosts &costs, const Cuts &cuts,
                        const schedule::Schedule &order, int64_t microBatches) {
  const Placement placement{schedule::stageRanks(order),
                            loadStages(costs, cuts)};
  const schedule::Durations durations = durationsOf(placement);
  std::vector<double> ofRanks(order.ranks.size());
  unsigned stage = 0;
  for (double seconds : secondsOfStages(costs, cuts))
    ofRanks[placement.positionOf[stage++]] += seconds;
  // Each micro-batch more is one more of the slowest rank's.
  return schedule::simulate(order, durations).end +
         *std::max_element(ofRanks.begin(), ofRanks.end()) *
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
  bool consider(const Cuts &cuts);
  void moveCuts();
  const Cuts &best() const { return bestCuts; }

private:
  bool moveOne(size_t index);
  bool leavesNoStageEmpty(const Cuts &cuts) const;

  const StageCosts &costs;
  const schedule::Schedule &order;
  const int64_t microBatches;
  Cuts bestCuts;
  double least = std::numeric_limits<double>::infinity();
  double unevenness = std::numeric_limits<double>::infinity();
  double simulated = 0;
};

bool CutSearch::consider(const Cuts &cuts) {
  if (cuts == bestCuts)
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
  bestCuts = cuts;
  least = std::min(least, seconds);
  unevenness = squares;
  return true;
}

bool CutSearch::leavesNoStageEmpty(const Cuts &cuts) const {
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
  const Cuts from(bestCuts);
  for (int64_t distance = 1; distance < costs.size(); distance *= 2)
    for (int64_t step : {-distance, distance}) {
      Cuts cuts(from);
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

void StageCosts::add(double forwardSeconds, double backwardSeconds,
                     double crossingSeconds) {
  forward.push_back(forward.back() + forwardSeconds);
  backward.push_back(backward.back() + backwardSeconds);
  weight.push_back(weight.back() + backwardSeconds / 2);
  work.push_back(work.back() + 1);
  crossing.push_back(crossingSeconds);
  crossingBytes.push_back(0);
  residualBytes.push_back(residualBytes.back());
  weightBytes.push_back(weightBytes.back());
}

bool StageCosts::check(std::string &error) const {
  const size_t count = work.size();
  const std::vector<double> *sums[] = {&forward, &backward, &weight,
                                       &residualBytes, &weightBytes};
  const std::vector<double> *messages[] = {&crossing, &crossingBytes};
  auto hasOtherSize = [&](const std::vector<double> *list) {
    return list->size() != count;
  };
  if (count == 0 ||
      std::any_of(std::begin(sums), std::end(sums), hasOtherSize) ||
      std::any_of(std::begin(messages), std::end(messages), hasOtherSize)) {
    error = "expects lists of one length, an entry more than ops, got one of " +
            std::to_string(count) + " and others";
    return false;
  }
  for (size_t op = 1; op < count; ++op) {
    auto falls = [&](const std::vector<double> *list) {
      return !((*list)[op] >= (*list)[op - 1] && std::isfinite((*list)[op]));
    };
    auto isNone = [&](const std::vector<double> *list) {
      return !((*list)[op] >= 0 && std::isfinite((*list)[op]));
    };
    if (work[op] < work[op - 1] ||
        std::any_of(std::begin(sums), std::end(sums), falls) ||
        std::any_of(std::begin(messages), std::end(messages), isNone)) {
      error = "expects running sums of times, bytes and counts that do not "
              "fall, and messages of at least 0 s and bytes, got others at "
              "op " +
              std::to_string(op - 1);
      return false;
    }
  }
  return true;
}

std::optional<Cuts> pp::findStageCuts(const StageCosts &costs,
                                      const std::string &schedule,
                                      int64_t stages, int64_t microBatches,
                                      std::string &error, int64_t chunks) {
  if (stages < 1 || microBatches < 1) {
    error = "expects at least 1 stage and 1 micro-batch, got " +
            std::to_string(stages) + " and " + std::to_string(microBatches);
    return std::nullopt;
  }
  if (chunks < 1 || stages % chunks) {
    error = "expects stages that divide into " + std::to_string(chunks) +
            " a rank, got " + std::to_string(stages);
    return std::nullopt;
  }
  // A pipeline is in its stride after a few rounds.
  schedule::ScheduleProblem orders;
  orders.ranks = unsigned(stages / chunks);
  orders.chunks = unsigned(chunks);
  orders.microBatches = unsigned(std::min(microBatches, 4 * stages / chunks));
  auto order = schedule::generate(schedule, orders, error);
  if (!order)
    return std::nullopt;
  return findStageCuts(costs, *order, microBatches, error);
}

std::optional<Cuts> pp::findStageCuts(const StageCosts &costs,
                                      const schedule::Schedule &order,
                                      int64_t microBatches,
                                      std::string &error) {
  if (!costs.check(error))
    return std::nullopt;
  const int64_t stages = order.stages;
  if (stages == 1)
    return Cuts();
  const int64_t work = costs.work.back() - costs.work.front();
  if (work < stages) {
    error = "expects at most " + std::to_string(work) +
            " stages, one for each forward op between an input and the loss, "
            "got " +
            std::to_string(stages) + ": a stage would be empty";
    return std::nullopt;
  }

  CutSearch search(costs, order, microBatches);
  const double total = costs.compute(0, costs.size());
  auto tryBound = [&](double bound) {
    if (auto cuts = BoundedCuts(costs, stages).find(bound))
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
