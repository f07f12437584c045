//===- ResidualSearch.cpp - the least recomputation that fits -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Per stage: what the other techniques keep, then a search over how many bytes
// to keep, between the fewest and those of no recomputation. A stage's peak is
// more than what it keeps, and may grow where less is kept, because what is
// computed again needs memory, too. Each measurement lowers the whole module,
// so that the search looks where a straight line between two measured peaks
// meets the limit.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/ResidualSearch.h"
#include "MemoryRefusal.h"
#include <map>

using namespace mlir;
using namespace pp;

namespace {

/// A stage: a forward fragment and the backward one that reads it.
struct Stage {
  Stage(FragmentOp forward, FragmentOp backward, ResidualMarks &marks)
      : forward(forward), backward(backward),
        graph(forward, backward, Remat::Auto, marks),
        // Bytes above all, and work above all.
        fewest(chooseResiduals(graph.getNodes(), /*bytePrice=*/1e9).bytes),
        most(chooseResiduals(graph.getNodes(), /*bytePrice=*/1e-9).bytes) {}

  FragmentOp forward, backward;
  ResidualGraph graph;
  int64_t fewest, most; ///< bytes to keep
  /// Peaks by bytes to keep, as far as measured.
  std::map<int64_t, int64_t> peaks;
  StageResiduals tried;
  std::optional<StageResiduals> best;
  int64_t leastPeak = std::numeric_limits<int64_t>::max();

  /// The bytes to keep that are measured next.
  int64_t nextBudget(int64_t limit) const;
  /// Whether no other choice would have less work.
  bool isDone(int64_t limit) const;
};

class ResidualSearch {
public:
  ResidualSearch(func::FuncOp main, int64_t limit, ResidualMarks &marks,
                 MeasureResiduals measure)
      : main(main), limit(limit), marks(marks), measure(measure) {}

  FailureOr<std::vector<StageResiduals>> run();

private:
  static constexpr unsigned kSteps = 7;

  LogicalResult collect();
  /// Measures the tried ways, and remembers what fits.
  LogicalResult tryAll();
  LogicalResult tryTechnique(Remat remat);
  void tryBudget(Stage &stage, int64_t budget);
  LogicalResult searchBudgets();
  SmallVector<int64_t> findLeastPeaks() const;

  func::FuncOp main;
  const int64_t limit;
  ResidualMarks &marks;
  MeasureResiduals measure;
  std::vector<Stage> stages;  ///< that have a choice
  SmallVector<int64_t> peaks; ///< of all stages, when last measured
};

} // namespace

int64_t Stage::nextBudget(int64_t limit) const {
  for (int64_t bytes : {fewest, most})
    if (!peaks.count(bytes))
      return bytes;
  auto fits = llvm::find_if(llvm::reverse(peaks), [&](const auto &measured) {
    return measured.second <= limit;
  });
  if (fits == peaks.rend()) {
    // Nothing says where a peak may be lower: in the middle of what is unknown.
    auto widest = peaks.begin();
    for (auto left = peaks.begin(), right = std::next(left);
         right != peaks.end(); left = right++)
      if (right->first - left->first > std::next(widest)->first - widest->first)
        widest = left;
    return widest->first + (std::next(widest)->first - widest->first) / 2;
  }
  auto exceeds = fits.base();
  // Not too near to either end, as peaks grow in steps.
  const double share =
      std::clamp(static_cast<double>(limit - fits->second) /
                     static_cast<double>(exceeds->second - fits->second),
                 0.1, 0.9);
  return fits->first + std::llround(share * static_cast<double>(exceeds->first -
                                                                fits->first));
}

bool Stage::isDone(int64_t limit) const {
  if (best && best->work == 0)
    return true;
  if (!peaks.count(fewest) || !peaks.count(most))
    return false;
  return fewest == most || peaks.at(most) <= limit;
}

LogicalResult ResidualSearch::collect() {
  for (auto [forward, backward] : findResidualPairs(main)) {
    stages.emplace_back(forward, backward, marks);
    if (failed(stages.back().graph.verify()))
      return failure();
  }
  return success();
}

/// Best is less work; for equal work, less memory.
LogicalResult ResidualSearch::tryAll() {
  SmallVector<Operation *> kept;
  for (const Stage &stage : stages)
    llvm::append_range(kept, stage.tried.kept);
  auto measured = measure(kept);
  if (failed(measured))
    return failure();
  peaks = std::move(*measured);
  // What one position does at once has one peak, and is chosen together.
  std::map<int64_t, std::pair<double, double>> work; // tried, best
  for (Stage &stage : stages) {
    stage.tried.peak = peaks[stage.graph.getPosition()];
    stage.leastPeak = std::min(stage.leastPeak, stage.tried.peak);
    auto &[tried, best] = work[stage.graph.getPosition()];
    tried += stage.tried.work;
    best += stage.best ? stage.best->work : 0;
  }
  for (Stage &stage : stages) {
    const auto [tried, best] = work[stage.graph.getPosition()];
    if (stage.tried.peak <= limit &&
        (!stage.best || std::pair(tried, stage.tried.peak) <
                            std::pair(best, stage.best->peak)))
      stage.best = stage.tried;
  }
  return success();
}

LogicalResult ResidualSearch::tryTechnique(Remat remat) {
  for (Stage &stage : stages) {
    ResidualGraph graph(stage.forward, stage.backward, remat, marks);
    const ResidualChoice choice =
        chooseResiduals(graph.getNodes(), /*bytePrice=*/1.0);
    stage.tried = {stage.forward, graph.getKept(choice), graph.getWork(choice)};
    if (stage.tried.work == 0)
      stage.tried.leastWork = 0;
  }
  return tryAll();
}

void ResidualSearch::tryBudget(Stage &stage, int64_t budget) {
  if (auto found = fitResiduals(stage.graph.getNodes(), budget, /*steps=*/8))
    stage.tried = {stage.forward, stage.graph.getKept(found->choice),
                   stage.graph.getWork(found->choice),
                   double(found->leastWork)};
}

LogicalResult ResidualSearch::searchBudgets() {
  auto isDone = [&](const Stage &stage) { return stage.isDone(limit); };
  for (unsigned step = 0; step < kSteps && !llvm::all_of(stages, isDone);
       ++step) {
    SmallVector<std::pair<Stage *, int64_t>> budgets;
    for (Stage &stage : stages)
      if (!stage.isDone(limit))
        budgets.push_back({&stage, stage.nextBudget(limit)});
    for (auto [stage, budget] : budgets)
      tryBudget(*stage, budget);
    if (failed(tryAll()))
      return failure();
    for (auto [stage, budget] : budgets)
      stage->peaks[budget] = stage->tried.peak;
  }
  return success();
}

/// Of each stage; a stage that has no choice has one peak.
SmallVector<int64_t> ResidualSearch::findLeastPeaks() const {
  SmallVector<int64_t> least = peaks;
  for (const Stage &stage : stages)
    least[stage.graph.getPosition()] = stage.leastPeak;
  return least;
}

FailureOr<std::vector<StageResiduals>> ResidualSearch::run() {
  if (failed(collect()))
    return failure();
  auto isDone = [&] {
    return llvm::all_of(stages, [](const Stage &stage) {
      return stage.best && stage.best->work == 0;
    });
  };
  for (Remat remat : {Remat::Cheap, Remat::Selective, Remat::Full})
    if ((peaks.empty() || !isDone()) && failed(tryTechnique(remat)))
      return failure();
  if (!isDone() && failed(searchBudgets()))
    return failure();
  if (llvm::any_of(findLeastPeaks(),
                   [&](int64_t peak) { return peak > limit; }))
    return refuseLimit(main, limit, "choice of what is kept", findLeastPeaks());
  std::vector<StageResiduals> chosen;
  for (Stage &stage : stages)
    chosen.push_back(std::move(*stage.best));
  return chosen;
}

FailureOr<std::vector<StageResiduals>>
pp::searchResiduals(func::FuncOp main, int64_t limit, ResidualMarks &marks,
                    MeasureResiduals measure) {
  return ResidualSearch(main, limit, marks, measure).run();
}
