//===- ResidualSearch.cpp - the least recomputation that fits -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Per stage: what the other techniques keep, then a search between the fewest
// bytes and those of no recomputation. A stage's peak is more than what it
// keeps, because what is computed again needs memory, too.
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
  FragmentOp forward, backward;
  ResidualGraph graph;
  /// Bytes to keep: the most that fitted, and the least that did not.
  int64_t fits = 0, exceeds = 0;
  StageResiduals tried;
  std::optional<StageResiduals> best;
  int64_t leastPeak = std::numeric_limits<int64_t>::max();
};

class ResidualSearch {
public:
  ResidualSearch(func::FuncOp main, int64_t limit, ResidualMarks &marks,
                 MeasureResiduals measure)
      : main(main), limit(limit), marks(marks), measure(measure) {}

  FailureOr<std::vector<StageResiduals>> run();

private:
  static constexpr unsigned kSteps = 8;

  LogicalResult collect();
  /// Measures the tried ways, and remembers what fits.
  LogicalResult tryAll();
  LogicalResult tryTechnique(Remat remat);
  void tryBudget(Stage &stage, int64_t budget);
  LogicalResult halve();
  LogicalResult refuse();

  func::FuncOp main;
  const int64_t limit;
  ResidualMarks &marks;
  MeasureResiduals measure;
  std::vector<Stage> stages;
};

} // namespace

LogicalResult ResidualSearch::collect() {
  for (auto [forward, backward] : findResidualPairs(main)) {
    stages.push_back({forward, backward,
                      ResidualGraph(forward, backward, Remat::Auto, marks)});
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
  auto peaks = measure(kept);
  if (failed(peaks))
    return failure();
  for (Stage &stage : stages) {
    stage.tried.peak = (*peaks)[stage.forward.getStage()];
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

/// Halves the bytes between what fits and what does not.
LogicalResult ResidualSearch::halve() {
  for (Stage &stage : stages) {
    ArrayRef<ResidualNode> nodes = stage.graph.getNodes();
    // Bytes above all, and work above all.
    stage.fits = chooseResiduals(nodes, /*bytePrice=*/1e9).bytes;
    stage.exceeds = chooseResiduals(nodes, /*bytePrice=*/1e-9).bytes;
    tryBudget(stage, stage.fits);
  }
  if (failed(tryAll()))
    return failure();
  for (unsigned step = 0; step < kSteps; ++step) {
    auto middleOf = [](const Stage &stage) {
      return stage.fits + (stage.exceeds - stage.fits) / 2;
    };
    for (Stage &stage : stages)
      tryBudget(stage, middleOf(stage));
    if (failed(tryAll()))
      return failure();
    for (Stage &stage : stages) {
      const int64_t middle = middleOf(stage);
      (stage.tried.peak <= limit ? stage.fits : stage.exceeds) = middle;
    }
  }
  return success();
}

LogicalResult ResidualSearch::refuse() {
  InFlightDiagnostic error = main.emitError("memory-limit=")
                             << pprt::printBytes(double(limit))
                             << " is met by no choice of what is kept: ";
  bool isFirst = true;
  for (Stage &stage : stages)
    if (!stage.best) {
      error << (isFirst ? "" : ", ") << "a rank of stage "
            << stage.forward.getStage() << " needs at least " << stage.leastPeak
            << " bytes (" << pprt::printBytes(double(stage.leastPeak)) << ")";
      isFirst = false;
    }
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
    if (!isDone() && failed(tryTechnique(remat)))
      return failure();
  if (!isDone() && failed(halve()))
    return failure();
  if (llvm::any_of(stages, [](const Stage &stage) { return !stage.best; }))
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
