//===- ResidualSearch.cpp - the least recomputation that fits -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Per stage: what the other techniques keep, then a search between the fewest
// bytes and those of no recomputation. A stage's peak is more than what it
// keeps, because what is computed again needs memory, too. Each measurement
// lowers the whole module, so that the search looks where a straight line
// between two measured peaks meets the limit.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/ResidualSearch.h"
#include "pp/IR/Diagnostics.h"
#include "pprt/Bytes.h"
#include "pprt/Status.h"

using namespace mlir;
using namespace pp;

namespace {

/// A stage: a forward fragment and the backward one that reads it.
struct Stage {
  Stage(FragmentOp forward, FragmentOp backward, ResidualMarks &marks)
      : forward(forward), backward(backward),
        graph(forward, backward, Remat::Auto, marks) {}

  FragmentOp forward, backward;
  ResidualGraph graph;
  struct Budget {
    int64_t bytes = 0;                ///< to keep
    std::optional<int64_t> peak = {}; ///< as measured
  };
  /// The largest that fitted, and the smallest that did not.
  Budget fits, exceeds;
  StageResiduals tried;
  std::optional<StageResiduals> best;
  int64_t leastPeak = std::numeric_limits<int64_t>::max();

  int64_t nextBudget(int64_t limit) const;
};

class ResidualSearch {
public:
  ResidualSearch(func::FuncOp main, int64_t limit, ResidualMarks &marks,
                 MeasureResiduals measure)
      : main(main), limit(limit), marks(marks), measure(measure) {}

  FailureOr<std::vector<StageResiduals>> run();

private:
  static constexpr unsigned kSteps = 6;

  LogicalResult collect();
  /// Measures the tried ways, and remembers what fits.
  LogicalResult tryAll();
  LogicalResult tryTechnique(Remat remat);
  void tryBudget(Stage &stage, int64_t budget);
  LogicalResult narrow();
  SmallVector<int64_t> findLeastPeaks() const;
  LogicalResult refuse();

  func::FuncOp main;
  const int64_t limit;
  ResidualMarks &marks;
  MeasureResiduals measure;
  std::vector<Stage> stages;  ///< that have a choice
  SmallVector<int64_t> peaks; ///< of all stages, when last measured
};

} // namespace

/// Where the peak should be the limit; not too near to either end, as peaks
/// grow in steps.
int64_t Stage::nextBudget(int64_t limit) const {
  const double gap = static_cast<double>(exceeds.bytes - fits.bytes);
  double share = 0.5;
  if (fits.peak && exceeds.peak && *exceeds.peak > *fits.peak)
    share = std::clamp(static_cast<double>(limit - *fits.peak) /
                           static_cast<double>(*exceeds.peak - *fits.peak),
                       0.1, 0.9);
  return fits.bytes + std::llround(share * gap);
}

LogicalResult ResidualSearch::collect() {
  for (auto [forward, backward] : findResidualPairs(main)) {
    stages.emplace_back(forward, backward, marks);
    if (failed(stages.back().graph.verify()))
      return failure();
  }
  return success();
}

/// Less work; for equal work, less memory.
static bool isBetter(const StageResiduals &a, const StageResiduals &b) {
  return std::pair(a.work, a.peak) < std::pair(b.work, b.peak);
}

LogicalResult ResidualSearch::tryAll() {
  SmallVector<Operation *> kept;
  for (const Stage &stage : stages)
    llvm::append_range(kept, stage.tried.kept);
  auto measured = measure(kept);
  if (failed(measured))
    return failure();
  peaks = std::move(*measured);
  for (Stage &stage : stages) {
    stage.tried.peak = peaks[stage.forward.getStage()];
    stage.leastPeak = std::min(stage.leastPeak, stage.tried.peak);
    if (stage.tried.peak <= limit &&
        (!stage.best || isBetter(stage.tried, *stage.best)))
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
  }
  return tryAll();
}

void ResidualSearch::tryBudget(Stage &stage, int64_t budget) {
  if (auto found = fitResiduals(stage.graph.getNodes(), budget, /*steps=*/8))
    stage.tried = {stage.forward, stage.graph.getKept(found->choice),
                   stage.graph.getWork(found->choice),
                   double(found->leastWork)};
}

/// Narrows the bytes between what fits and what does not.
LogicalResult ResidualSearch::narrow() {
  for (Stage &stage : stages) {
    ArrayRef<ResidualNode> nodes = stage.graph.getNodes();
    // Bytes above all, and work above all.
    stage.fits.bytes = chooseResiduals(nodes, /*bytePrice=*/1e9).bytes;
    stage.exceeds.bytes = chooseResiduals(nodes, /*bytePrice=*/1e-9).bytes;
    tryBudget(stage, stage.fits.bytes);
  }
  if (failed(tryAll()))
    return failure();
  for (Stage &stage : stages)
    stage.fits.peak = stage.tried.peak;
  auto isNear = [&](const Stage &stage) {
    return stage.best &&
           (stage.best->work == 0 || limit - stage.best->peak <= limit / 200);
  };
  for (unsigned step = 0; step < kSteps && !llvm::all_of(stages, isNear);
       ++step) {
    SmallVector<int64_t> budgets = llvm::map_to_vector(
        stages, [&](const Stage &stage) { return stage.nextBudget(limit); });
    for (auto [stage, budget] : llvm::zip_equal(stages, budgets))
      tryBudget(stage, budget);
    if (failed(tryAll()))
      return failure();
    for (auto [stage, budget] : llvm::zip_equal(stages, budgets))
      (stage.tried.peak <= limit ? stage.fits
                                 : stage.exceeds) = {budget, stage.tried.peak};
  }
  return success();
}

/// Of each stage; a stage that has no choice has one peak.
SmallVector<int64_t> ResidualSearch::findLeastPeaks() const {
  SmallVector<int64_t> least = peaks;
  for (const Stage &stage : stages)
    least[stage.graph.getStage()] = stage.leastPeak;
  return least;
}

LogicalResult ResidualSearch::refuse() {
  InFlightDiagnostic error = main.emitError("memory-limit=")
                             << pprt::printBytes(double(limit))
                             << " is met by no choice of what is kept: ";
  bool isFirst = true;
  for (auto [number, peak] : llvm::enumerate(findLeastPeaks()))
    if (peak > limit)
      error << (isFirst ? "" : ", ") << "a rank of stage " << number
            << " needs at least " << peak << " bytes ("
            << pprt::printBytes(double(peak)) << ")",
          isFirst = false;
  error << "; raise the limit, or split more (precision, zero, microbatches, "
           "pp, tp)";
  setExitCode(error, int(pprt::ExitCode::outOfMemory));
  return error;
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
  if (!isDone() && failed(narrow()))
    return failure();
  if (llvm::any_of(findLeastPeaks(),
                   [&](int64_t peak) { return peak > limit; }))
    return refuse();
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
