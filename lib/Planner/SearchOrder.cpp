//===- SearchOrder.cpp - the order behind schedule=auto -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/SearchOrder.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Planner/FindSeeds.h"
#include "pp/Planner/ReshardQuestion.h"
#include "pp/Planner/StageCuts.h"
#include "pp/Schedule/Algorithms.h"
#include "pprt/Bytes.h"
#include "pprt/Status.h"

using namespace mlir;
using namespace pp;

namespace {

/// Stages of a position that are tried where the plan does not say.
constexpr unsigned kChunks[] = {1, 2, 4};

/// Searches under a limit, of which each lowers the module once.
constexpr unsigned kSteps = 4;

class OrderSearch {
public:
  OrderSearch(func::FuncOp main, PlanAttr plan, MeasureOrder measure)
      : main(main), plan(plan), measure(measure) {
    const MeshAttr mesh = plan.getMesh();
    const MeshAxisAttr stages = mesh.getStageAxis(), time = mesh.getTimeAxis();
    problem.positions = stages ? unsigned(stages.getSize()) : 1;
    problem.microBatches = time ? unsigned(time.getSize()) : 1;
  }

  FailureOr<FoundSchedule> run();

private:
  LogicalResult addPlacements();
  void addPlacement(const StageCosts &costs, const std::string &like,
                    unsigned chunks);
  FailureOr<FoundSchedule> fitMemory(FoundSchedule found, int64_t limit);
  FailureOr<bool> fits(const FoundSchedule &found, int64_t limit);
  void lowerLimits(const FoundSchedule &found, int64_t limit);
  FailureOr<FoundSchedule> takeLeanest(int64_t limit);

  func::FuncOp main;
  const PlanAttr plan;
  MeasureOrder measure;
  ScheduleSearchProblem problem;
  /// Of the last measured order; the least of all.
  SmallVector<int64_t> peaks, leastPeaks;
};

/// Stages of one position and about one duration, cut for an order that is
/// known, lie where that order has them.
void OrderSearch::addPlacement(const StageCosts &costs, const std::string &like,
                               unsigned chunks) {
  schedule::ScheduleProblem sizes;
  sizes.ranks = problem.positions;
  sizes.chunks = chunks;
  // A pipeline is in its stride after a few rounds.
  sizes.microBatches = std::min(problem.microBatches, 4 * problem.positions);
  std::string error;
  auto order = schedule::generate(like, sizes, error);
  if (!order)
    return;
  std::optional<std::vector<int64_t>> cuts;
  if (plan.getCuts().empty())
    cuts = findStageCuts(costs, *order, problem.microBatches, error);
  else if (plan.getCuts().size() + 1 == order->stages)
    cuts.emplace(plan.getCuts().begin(), plan.getCuts().end());
  if (cuts)
    problem.placements.push_back(
        {schedule::stageRanks(*order), loadStages(costs, *cuts)});
}

LogicalResult OrderSearch::addPlacements() {
  FailureOr<PlanAttr> withSplits = withSeeds(main, plan);
  if (failed(withSplits))
    return failure();
  FailureOr<StageCosts> costs =
      measureStages(main, {*withSplits, getTopology(plan), {}});
  if (failed(costs))
    return failure();
  const auto given = unsigned(plan.getInt(PlanKey::Chunks));
  for (unsigned chunks : kChunks) {
    if (given != 0)
      chunks = given;
    const bool isDone = given != 0 && !problem.placements.empty();
    // One position has nothing to gain from several stages.
    if (isDone || (problem.positions == 1 && chunks > 1 && given == 0))
      break;
    addPlacement(*costs, chunks == 1 ? "1f1b" : "interleaved-1f1b", chunks);
    if (chunks == 2)
      addPlacement(*costs, "zb-v", chunks);
  }
  if (problem.placements.empty())
    return main.emitError("schedule=auto expects a model with a forward op "
                          "between an input and the loss for each stage, and "
                          "cuts, if any, of one, two or four stages a position "
                          "(or of `chunks`), got none that fits ")
           << problem.positions << " positions";
  return success();
}

FailureOr<bool> OrderSearch::fits(const FoundSchedule &found, int64_t limit) {
  auto measured = measure(found.schedule);
  if (failed(measured))
    return failure();
  peaks = std::move(*measured);
  leastPeaks.resize(peaks.size(), kUnlimited);
  for (auto [least, peak] : llvm::zip_equal(leastPeaks, peaks))
    least = std::min(least, peak);
  return llvm::all_of(peaks, [&](int64_t peak) { return peak <= limit; });
}

/// What an order needs too much, the next one has to hold less.
void OrderSearch::lowerLimits(const FoundSchedule &found, int64_t limit) {
  problem.limits.resize(problem.positions, kUnlimited);
  for (unsigned i = 0; i < problem.positions; ++i)
    if (peaks[i] > limit)
      problem.limits[i] =
          std::max(int64_t(0), found.peakBytes[i] - (peaks[i] - limit));
}

/// One micro-batch at a time.
FailureOr<FoundSchedule> OrderSearch::takeLeanest(int64_t limit) {
  FoundSchedule lean;
  const Placement &placement = problem.placements.front();
  const auto stages = unsigned(placement.positionOf.size());
  lean.schedule = {"auto", stages, problem.microBatches, {}};
  lean.schedule.ranks.resize(problem.positions);
  auto add = [&](unsigned stage, schedule::Kind kind, unsigned microBatch) {
    lean.schedule.ranks[placement.positionOf[stage]].push_back(
        {stage, kind, microBatch});
  };
  for (unsigned m = 0; m < problem.microBatches; ++m) {
    for (unsigned stage = 0; stage < stages; ++stage)
      add(stage, schedule::Kind::Forward, m);
    for (unsigned stage = stages; stage-- > 0;)
      add(stage, schedule::Kind::Backward, m);
  }
  auto isFitting = fits(lean, limit);
  if (failed(isFitting))
    return failure();
  if (*isFitting) {
    lean.seconds =
        schedule::simulate(lean.schedule, durationsOf(placement)).end;
    return lean;
  }
  InFlightDiagnostic error =
      main.emitError("memory-limit=")
      << pprt::printLimit(limit)
      << " is met by no order of actions that was tried: ";
  bool isFirst = true;
  for (auto [position, peak] : llvm::enumerate(leastPeaks))
    if (peak > limit) {
      error << (isFirst ? "" : ", ") << "a rank of position " << position
            << " needs at least " << pprt::printLimit(peak);
      isFirst = false;
    }
  error << "; raise the limit, let remat=auto meet it, or split more "
           "(precision, zero, microbatches, pp, tp)";
  setExitCode(error, int(pprt::ExitCode::outOfMemory));
  return error;
}

FailureOr<FoundSchedule> OrderSearch::fitMemory(FoundSchedule found,
                                                int64_t limit) {
  for (unsigned step = 0; step < kSteps; ++step) {
    auto isFitting = fits(found, limit);
    if (failed(isFitting))
      return failure();
    if (*isFitting)
      return found;
    lowerLimits(found, limit);
    std::string error;
    auto next = searchSchedule(problem, error);
    if (!next)
      break;
    found = std::move(*next);
  }
  return takeLeanest(limit);
}

FailureOr<FoundSchedule> OrderSearch::run() {
  if (failed(addPlacements()))
    return failure();
  std::string error;
  auto found = searchSchedule(problem, error);
  if (!found)
    return main.emitError("schedule=auto ") << error;
  const StringRef limit = plan.getWord(PlanKey::MemoryLimit);
  if (limit.empty() || plan.getWord(PlanKey::Remat) == "auto")
    return *found;
  return fitMemory(std::move(*found), int64_t(*pprt::parseBytes(limit.str())));
}

} // namespace

FailureOr<FoundSchedule> pp::searchOrder(func::FuncOp main, PlanAttr plan,
                                         MeasureOrder measure) {
  return OrderSearch(main, plan, measure).run();
}
