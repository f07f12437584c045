//===- SearchOrder.cpp - the order behind schedule=auto -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Estimates of single ops do not see fusion, nor what gradients of weights cost
// that are apart. So the named schedules are lowered, with cuts made for each,
// and the search has the times of their programs. The best is chosen by
// predicted steps of programs, and so never worse than a named one.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/SearchOrder.h"
#include "MemoryRefusal.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Planner/FindSeeds.h"
#include "pp/Planner/ReshardQuestion.h"
#include "pp/Planner/StageCuts.h"
#include "pp/Schedule/Algorithms.h"
#include "pprt/Bytes.h"

using namespace mlir;
using namespace pp;

namespace {

/// Stages of a position that are tried where the plan does not say.
constexpr unsigned kChunks[] = {1, 2, 4};

/// Searches under a limit for one layout of stages.
constexpr unsigned kLimitSteps = 3;

/// An order is lowered if by simulation it takes no more than this share of the
/// best step.
constexpr double kMayBeBest = 1.1;

/// Times that differ by no more than this share differ by rounding.
constexpr double kSameTime = 1e-9;

/// For each of a dozen searches.
constexpr SearchEffort kEffort = {/*exactNodes=*/100000,
                                  /*placedActions=*/8000000};

/// Pairs of stage and micro-batch up to which orders are lowered that no limit
/// asks for.
constexpr uint64_t kMostLoweredPairs = 4096;

/// Bytes of a position in one order.
struct Bytes {
  int64_t estimated, measured;
};

/// The orders next to the limit of a position.
struct Bracket {
  std::optional<Bytes> below, above;

  void add(Bytes bytes, int64_t limit);
  int64_t findLimit(int64_t limit) const;
};

void Bracket::add(Bytes bytes, int64_t limit) {
  const bool keepsLimit = bytes.measured <= limit;
  std::optional<Bytes> &end = keepsLimit ? below : above;
  if (!end || (keepsLimit ? bytes.estimated > end->estimated
                          : bytes.estimated < end->estimated))
    end = bytes;
}

/// What may be held by estimate so that the limit is met, if needs grow evenly
/// between the measured orders.
int64_t Bracket::findLimit(int64_t limit) const {
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

/// One way to lay stages out, and what is known of it.
struct StageLayout {
  schedule::Schedule named;
  Placement placement;
  SmallVector<int64_t> cuts;
  SmallVector<Bracket> brackets;
  /// No order takes less, if memory is no matter.
  double leastSeconds = 0;

  double simulate(const schedule::Schedule &order) const {
    return schedule::simulate(order, durationsOf(placement)).end;
  }
};

class OrderTrials {
public:
  OrderTrials(func::FuncOp main, PlanAttr plan, LowerOrder lower)
      : main(main), plan(plan), lower(lower) {
    positions = unsigned(plan.getMesh().getNumStagePositions());
    microBatches = unsigned(plan.getMesh().getNumMicroBatches());
    if (const StringRef text = plan.getWord(PlanKey::MemoryLimit);
        !text.empty())
      limit = int64_t(*pprt::parseBytes(text.str()));
  }

  FailureOr<ChosenOrder> run();

private:
  LogicalResult addLayouts();
  LogicalResult findGivenCuts();
  bool addLayout(const StageCosts &costs, const std::string &name,
                 unsigned chunks, std::string &error);
  std::optional<FoundSchedule> search(StageLayout &layout,
                                      bool isLimited = false);
  bool isLowered(const StageLayout &layout) const;
  void offer(const StageLayout &layout, schedule::Schedule order,
             double seconds, int64_t peak);
  bool tryOrder(StageLayout &layout, schedule::Schedule order);
  void takeTimes(StageLayout &layout, const schedule::Schedule &order);
  void searchFromNamed(StageLayout &layout);
  void searchUnderLimit(StageLayout &layout);
  ChosenOrder take(const StageLayout &layout, schedule::Schedule order,
                   double seconds) const;

  func::FuncOp main;
  const PlanAttr plan;
  LowerOrder lower;
  unsigned positions, microBatches;
  int64_t limit = kUnlimited;
  SmallVector<int64_t> givenCuts;
  std::vector<StageLayout> layouts;
  /// Of the order that was lowered last; nothing if it cannot be lowered.
  std::optional<LoweredOrder> lowered;
  /// Of the order whose largest peak is the least.
  SmallVector<int64_t> leastPeaks;
  /// The fastest that keeps the limit, of equally fast ones the leanest; as far
  /// as orders are not lowered, by simulation.
  std::optional<ChosenOrder> best;
  int64_t bestPeak = kUnlimited; ///< the largest of a position
};

LogicalResult OrderTrials::findGivenCuts() {
  givenCuts = llvm::to_vector(plan.getCuts());
  const StringRef names = plan.getWord(PlanKey::Cuts);
  if (names.empty())
    return success();
  auto named = findNamedCuts(main, names);
  if (failed(named))
    return failure();
  givenCuts = std::move(*named);
  return success();
}

/// The stages are cut for a named schedule, and lie where it has them.
bool OrderTrials::addLayout(const StageCosts &costs, const std::string &name,
                            unsigned chunks, std::string &error) {
  schedule::ScheduleProblem sizes;
  sizes.ranks = positions;
  sizes.chunks = chunks;
  sizes.microBatches = microBatches;
  auto order = schedule::generate(name, sizes, error);
  if (!order)
    return false;
  std::optional<std::vector<int64_t>> cuts(std::in_place, givenCuts.begin(),
                                           givenCuts.end());
  if (givenCuts.empty()) // as pp-cut-stages does
    cuts =
        findStageCuts(costs, schedule::takeMicroBatches(*order, 4 * positions),
                      microBatches, error);
  if (!cuts)
    return false;
  StageLayout &layout = layouts.emplace_back();
  layout.placement = {schedule::stageRanks(*order), loadStages(costs, *cuts)};
  layout.named = std::move(*order);
  layout.cuts.assign(cuts->begin(), cuts->end());
  layout.brackets.resize(positions);
  return true;
}

LogicalResult OrderTrials::addLayouts() {
  FailureOr<PlanAttr> withSplits = withSeeds(main, plan);
  if (failed(withSplits) || failed(findGivenCuts()))
    return failure();
  FailureOr<StageCosts> costs =
      measureStages(main, {*withSplits, getTopology(plan), {}});
  if (failed(costs))
    return failure();
  SmallVector<unsigned> chunks = llvm::to_vector(ArrayRef(kChunks));
  if (const auto given = unsigned(plan.getInt(PlanKey::Chunks)))
    chunks = {given};
  else if (positions == 1)
    chunks = {1}; // has nothing to gain from several stages
  if (!givenCuts.empty()) {
    const size_t stages = givenCuts.size() + 1;
    if (stages % positions || givenCuts.front() < 1 ||
        givenCuts.back() >= costs->size() ||
        llvm::adjacent_find(givenCuts, std::greater_equal<>()) !=
            givenCuts.end())
      return main.emitError("schedule=auto expects cuts that ascend, and as "
                            "many stages at each of ")
             << positions << " positions, got [" << ArrayRef(givenCuts) << "]";
    const auto ofCuts = unsigned(stages / positions);
    if (chunks.size() == 1 && positions > 1 && chunks.front() != ofCuts)
      return main.emitError("schedule=auto expects ")
             << positions * chunks.front() - 1 << " cuts for "
             << positions * chunks.front()
             << " stages, as chunks=" << chunks.front() << " says, got "
             << givenCuts.size();
    chunks = {ofCuts};
  }
  std::string first, error; // that of the fewest stages says what is needed
  for (unsigned count : chunks)
    for (const schedule::Algorithm &algorithm : schedule::algorithms())
      if (algorithm.minChunks <= count && count <= algorithm.maxChunks &&
          !addLayout(*costs, algorithm.name, count, error) && first.empty())
        first = error;
  if (layouts.empty())
    return main.emitError("schedule=auto ") << first;
  return success();
}

std::optional<FoundSchedule> OrderTrials::search(StageLayout &layout,
                                                 bool isLimited) {
  ScheduleSearchProblem problem;
  problem.positions = positions;
  problem.microBatches = microBatches;
  problem.placements = {layout.placement};
  if (isLimited)
    for (const Bracket &bracket : layout.brackets)
      problem.limits.push_back(bracket.findLimit(limit));
  std::string error;
  auto found = searchSchedule(problem, error, kEffort);
  if (found && !isLimited)
    layout.leastSeconds = found->leastSeconds;
  return found;
}

bool OrderTrials::isLowered(const StageLayout &layout) const {
  return limit != kUnlimited ||
         uint64_t(layout.placement.positionOf.size()) * microBatches <=
             kMostLoweredPairs;
}

ChosenOrder OrderTrials::take(const StageLayout &layout,
                              schedule::Schedule order, double seconds) const {
  ChosenOrder chosen;
  chosen.gap = layout.leastSeconds > 0
                   ? layout.simulate(order) / layout.leastSeconds - 1
                   : 0;
  order.name = "auto";
  chosen.schedule = std::move(order);
  chosen.cuts = layout.cuts;
  chosen.stepSeconds = seconds;
  return chosen;
}

/// Keeps the order if none is better; `peak` is the largest of a position.
void OrderTrials::offer(const StageLayout &layout, schedule::Schedule order,
                        double seconds, int64_t peak) {
  if (best) {
    const double most = best->stepSeconds * (1 + kSameTime);
    const bool isFaster = seconds * (1 + kSameTime) < best->stepSeconds;
    if (!isFaster && (seconds > most || peak >= bestPeak))
      return;
  }
  best = take(layout, std::move(order), seconds);
  bestPeak = peak;
}

/// Whether the order can be lowered and keeps the limit.
bool OrderTrials::tryOrder(StageLayout &layout, schedule::Schedule order) {
  order.name = "auto";
  lowered.reset();
  auto result = lower(order, layout.cuts);
  if (failed(result))
    return false;
  lowered = std::move(*result);
  const std::vector<int64_t> estimated = peakBytes(layout.placement, order);
  bool isFitting = true;
  for (auto [bracket, bytes, peak] :
       llvm::zip_equal(layout.brackets, estimated, lowered->peakBytes)) {
    bracket.add({bytes, peak}, limit);
    isFitting &= peak <= limit;
  }
  if (leastPeaks.empty() ||
      *llvm::max_element(lowered->peakBytes) < *llvm::max_element(leastPeaks))
    leastPeaks = lowered->peakBytes;
  if (isFitting)
    offer(layout, std::move(order), lowered->stepSeconds,
          *llvm::max_element(lowered->peakBytes));
  return isFitting;
}

/// The stages' times in the program that was lowered last. Where it has both
/// gradients in one action, each keeps its share.
void OrderTrials::takeTimes(StageLayout &layout,
                            const schedule::Schedule &order) {
  const std::vector<bool> isSplit = schedule::splitBackwards(order);
  for (auto [stage, load] : llvm::enumerate(layout.placement.loads)) {
    auto secondsOf = [&, number = std::to_string(stage)](char letter) {
      const auto found = lowered->actionSeconds.find(number + letter);
      return found == lowered->actionSeconds.end() ? 0 : found->second;
    };
    load.forwardSeconds = secondsOf('F');
    const double backward = secondsOf('B'), weight = secondsOf('W');
    const double share =
        load.mergedSeconds > 0 ? load.backwardSeconds / load.mergedSeconds : 0;
    load.mergedSeconds = backward + weight;
    load.backwardSeconds =
        isSplit[stage * order.microBatches] ? backward : share * backward;
    load.weightSeconds = load.mergedSeconds - load.backwardSeconds;
  }
}

/// With the times of the named schedule's program.
void OrderTrials::searchFromNamed(StageLayout &layout) {
  if (isLowered(layout)) {
    tryOrder(layout, layout.named);
    if (lowered)
      takeTimes(layout, layout.named);
  }
  auto found = search(layout);
  if (!found)
    return;
  if (isLowered(layout)) {
    if (!best || found->seconds <= kMayBeBest * best->stepSeconds)
      tryOrder(layout, std::move(found->schedule));
  } else {
    const int64_t peak =
        *llvm::max_element(peakBytes(layout.placement, found->schedule));
    offer(layout, std::move(found->schedule), found->seconds, peak);
  }
}

void OrderTrials::searchUnderLimit(StageLayout &layout) {
  if (!tryOrder(layout, leanestSchedule(layout.placement, microBatches)))
    return;
  for (unsigned step = 0; step < kLimitSteps; ++step) {
    auto found = search(layout, /*isLimited=*/true);
    if (!found || found->seconds >= kMayBeBest * best->stepSeconds)
      return;
    tryOrder(layout, std::move(found->schedule));
  }
}

FailureOr<ChosenOrder> OrderTrials::run() {
  if (failed(addLayouts()))
    return failure();
  for (StageLayout &layout : layouts)
    searchFromNamed(layout);
  if (limit != kUnlimited)
    for (StageLayout &layout : layouts)
      searchUnderLimit(layout);
  if (best)
    return std::move(*best);
  if (!leastPeaks.empty())
    return refuseLimit(main, limit, "order of actions", leastPeaks,
                       plan.getWord(PlanKey::Remat) == "auto"
                           ? ""
                           : "let remat=auto meet it, ");
  // What keeps each order from being lowered is not its order: it is reported
  // when the module is lowered in any.
  return take(layouts.front(),
              leanestSchedule(layouts.front().placement, microBatches), 0);
}

} // namespace

FailureOr<ChosenOrder> pp::searchOrder(func::FuncOp main, PlanAttr plan,
                                       LowerOrder lower) {
  return OrderTrials(main, plan, lower).run();
}
