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
  FailureOr<FoundSchedule> fitMemory(FoundSchedule found);
  FailureOr<bool> tryOrder(FoundSchedule tried);
  FoundSchedule makeLeanest(size_t placement) const;
  std::vector<FoundSchedule> makeNamed() const;
  void time(FoundSchedule &order) const;
  InFlightDiagnostic refuse();

  /// Bytes of a position in one order.
  struct Bytes {
    int64_t estimated, measured;
  };
  /// What is known of a position: the orders next to the limit.
  struct Range {
    std::optional<Bytes> below, above;
    int64_t least = kUnlimited;

    int64_t findLimit(int64_t limit) const;
  };

  func::FuncOp main;
  const PlanAttr plan;
  MeasureOrder measure;
  ScheduleSearchProblem problem;
  SmallVector<int64_t> givenCuts;
  int64_t limit = kUnlimited;
  SmallVector<Range> ranges;
  /// The fastest order that keeps the limit.
  std::optional<FoundSchedule> best;
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
  if (givenCuts.empty())
    cuts = findStageCuts(costs, *order, problem.microBatches, error);
  else if (givenCuts.size() + 1 == order->stages && givenCuts.front() > 0 &&
           givenCuts.back() < costs.size() && llvm::is_sorted(givenCuts))
    cuts.emplace(givenCuts.begin(), givenCuts.end());
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
  givenCuts = llvm::to_vector(plan.getCuts());
  if (const StringRef names = plan.getWord(PlanKey::Cuts); !names.empty()) {
    auto named = findNamedCuts(main, names);
    if (failed(named))
      return failure();
    givenCuts = std::move(*named);
  }
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
    return main.emitError("schedule=auto expects a forward op between an input "
                          "and the loss for each stage, and cuts, if any, that "
                          "ascend, for "
                          "one, two or four stages (or `chunks`) of each of ")
           << problem.positions << " positions, got "
           << costs->work.back() - costs->work.front() << " ops and "
           << givenCuts.size() << " cuts";
  return success();
}

/// Whether an order keeps the limit; if so and if it is faster, it is the best.
/// What is estimated and what is measured bracket the limit of each position.
FailureOr<bool> OrderSearch::tryOrder(FoundSchedule tried) {
  auto measured = measure(tried.schedule);
  if (failed(measured))
    return failure();
  const Placement &placement = problem.placements[tried.placement];
  const std::vector<int64_t> estimated = peakBytes(placement, tried.schedule);
  bool isFitting = true;
  for (auto [range, estimate, peak] :
       llvm::zip_equal(ranges, estimated, *measured)) {
    range.least = std::min(range.least, peak);
    const bool keepsLimit = peak <= limit;
    isFitting &= keepsLimit;
    auto &end = keepsLimit ? range.below : range.above;
    if (!end ||
        (keepsLimit ? estimate > end->estimated : estimate < end->estimated))
      end = {estimate, peak};
  }
  if (isFitting && (!best || tried.seconds < best->seconds))
    best = std::move(tried);
  return isFitting;
}

/// What may be held by estimate so that the limit is met, if needs grow evenly
/// between the measured orders.
int64_t OrderSearch::Range::findLimit(int64_t limit) const {
  if (!above)
    return kUnlimited;
  const int64_t excess = above->measured - limit;
  if (!below || below->estimated >= above->estimated)
    return std::max(int64_t(0), above->estimated - excess);
  const double share =
      double(excess) / double(above->measured - below->measured);
  return above->estimated -
         std::max(int64_t(1),
                  int64_t(share * double(above->estimated - below->estimated)));
}

/// One micro-batch at a time.
FoundSchedule OrderSearch::makeLeanest(size_t placement) const {
  FoundSchedule lean;
  lean.placement = placement;
  const std::vector<unsigned> &positionOf =
      problem.placements[placement].positionOf;
  const auto stages = unsigned(positionOf.size());
  lean.schedule = {"auto", stages, problem.microBatches, {}};
  lean.schedule.ranks.resize(problem.positions);
  auto add = [&](unsigned stage, schedule::Kind kind, unsigned microBatch) {
    lean.schedule.ranks[positionOf[stage]].push_back({stage, kind, microBatch});
  };
  for (unsigned m = 0; m < problem.microBatches; ++m) {
    for (unsigned stage = 0; stage < stages; ++stage)
      add(stage, schedule::Kind::Forward, m);
    for (unsigned stage = stages; stage-- > 0;)
      add(stage, schedule::Kind::Backward, m);
  }
  time(lean);
  return lean;
}

void OrderSearch::time(FoundSchedule &order) const {
  order.seconds =
      schedule::simulate(order.schedule,
                         durationsOf(problem.placements[order.placement]))
          .end;
}

/// The rules that lay stages as a placement does, the fastest first.
std::vector<FoundSchedule> OrderSearch::makeNamed() const {
  std::vector<FoundSchedule> named;
  for (auto [index, placement] : llvm::enumerate(problem.placements))
    for (const schedule::Algorithm &algorithm : schedule::algorithms()) {
      schedule::ScheduleProblem sizes;
      sizes.ranks = problem.positions;
      sizes.microBatches = problem.microBatches;
      sizes.chunks = unsigned(placement.positionOf.size()) / problem.positions;
      std::string error;
      auto order = schedule::generate(algorithm.name, sizes, error);
      if (!order || schedule::stageRanks(*order) != placement.positionOf)
        continue;
      FoundSchedule &entry = named.emplace_back();
      entry.placement = index;
      entry.schedule = std::move(*order);
      entry.schedule.name = "auto";
      time(entry);
    }
  llvm::stable_sort(named, [](const FoundSchedule &a, const FoundSchedule &b) {
    return a.seconds < b.seconds;
  });
  return named;
}

InFlightDiagnostic OrderSearch::refuse() {
  InFlightDiagnostic error =
      main.emitError("memory-limit=")
      << pprt::printLimit(limit)
      << " is met by no order of actions that was tried: ";
  bool isFirst = true;
  for (auto [position, range] : llvm::enumerate(ranges))
    if (range.least > limit) {
      error << (isFirst ? "" : ", ") << "a rank of position " << position
            << " needs at least " << pprt::printLimit(range.least);
      isFirst = false;
    }
  error << "; raise the limit, let remat=auto meet it, or split more "
           "(precision, zero, microbatches, pp, tp)";
  setExitCode(error, int(pprt::ExitCode::outOfMemory));
  return error;
}

FailureOr<FoundSchedule> OrderSearch::fitMemory(FoundSchedule found) {
  ranges.resize(problem.positions);
  const double leastSeconds = found.leastSeconds;
  auto isFitting = tryOrder(found);
  if (failed(isFitting))
    return failure();
  if (*isFitting)
    return found;
  for (size_t i = 0; !*isFitting && i < problem.placements.size(); ++i) {
    isFitting = tryOrder(
        makeLeanest((found.placement + i) % problem.placements.size()));
    if (failed(isFitting))
      return failure();
  }
  for (unsigned step = 0; *isFitting && step < kSteps; ++step) {
    problem.limits.clear();
    for (const Range &range : ranges)
      problem.limits.push_back(range.findLimit(limit));
    std::string error;
    auto next = searchSchedule(problem, error);
    if (!next || next->seconds >= best->seconds)
      break;
    if (failed(tryOrder(std::move(*next))))
      return failure();
  }
  for (FoundSchedule &named : makeNamed()) {
    if (best && named.seconds >= best->seconds)
      break;
    isFitting = tryOrder(std::move(named));
    if (failed(isFitting))
      return failure();
    if (*isFitting)
      break;
  }
  if (!best)
    return refuse();
  best->leastSeconds = leastSeconds;
  return std::move(*best);
}

FailureOr<FoundSchedule> OrderSearch::run() {
  if (failed(addPlacements()))
    return failure();
  std::string error;
  auto found = searchSchedule(problem, error);
  if (!found)
    return main.emitError("schedule=auto ") << error;
  const StringRef text = plan.getWord(PlanKey::MemoryLimit);
  if (text.empty())
    return *found;
  limit = int64_t(*pprt::parseBytes(text.str()));
  return fitMemory(std::move(*found));
}

} // namespace

FailureOr<FoundSchedule> pp::searchOrder(func::FuncOp main, PlanAttr plan,
                                         MeasureOrder measure) {
  return OrderSearch(main, plan, measure).run();
}
