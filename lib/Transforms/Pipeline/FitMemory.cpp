//===- FitMemory.cpp - the least recomputation that fits ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Per stage: what the other techniques keep, then a search between the fewest
// bytes and those of no recomputation. A stage's peak is more than what it
// keeps, because what is computed again needs memory, too.
//
//===----------------------------------------------------------------------===//
#include "FitMemory.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Transforms/Pipelines.h"
#include "pprt/Bytes.h"
#include "pprt/Status.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace pp;

namespace {

/// A way for a stage, and what it costs.
struct Way {
  SmallVector<Operation *> kept;
  double work = 0; ///< FLOPs that are computed again
  int64_t peak = 0;
  /// No way that keeps as few bytes has less work.
  double leastWork = 0;
};

/// A stage: a forward fragment and the backward one that reads it.
struct Stage {
  FragmentOp forward, backward;
  ResidualGraph graph;
  /// Bytes to keep: the most that fitted, and the least that did not.
  int64_t fits = 0, exceeds = 0;
  Way tried;
  std::optional<Way> best;
  int64_t leastPeak = std::numeric_limits<int64_t>::max();
};

class MemoryFitter {
public:
  MemoryFitter(func::FuncOp main, PlanAttr plan, ResidualMarks &marks,
               StringRef target)
      : main(main), marks(marks), target(target),
        limit(*pprt::parseBytes(plan.getWord(PlanKey::MemoryLimit).str())) {}

  LogicalResult run();

private:
  static constexpr unsigned kSearchSteps = 8;

  LogicalResult collect();
  /// Lowers the module with the tried ways, and remembers what fits.
  LogicalResult measure();
  LogicalResult tryTechnique(Remat remat);
  LogicalResult search();
  LogicalResult refuse();
  void keepBest();

  func::FuncOp main;
  ResidualMarks &marks;
  StringRef target;
  const int64_t limit;
  std::vector<Stage> stages;
};

} // namespace

LogicalResult MemoryFitter::collect() {
  for (auto [forward, backward] : findResidualPairs(main)) {
    stages.push_back({forward, backward,
                      ResidualGraph(forward, backward, Remat::Auto, marks)});
    if (failed(stages.back().graph.verify()))
      return failure();
  }
  return success();
}

/// The ops that all stages keep.
template <typename GetWay>
static SmallVector<Operation *> join(const std::vector<Stage> &stages,
                                     GetWay getWay) {
  SmallVector<Operation *> kept;
  for (const Stage &stage : stages)
    llvm::append_range(kept, getWay(stage).kept);
  return kept;
}

LogicalResult MemoryFitter::measure() {
  markKept(main, join(stages, [](const Stage &stage) -> const Way & {
             return stage.tried;
           }));
  OwningOpRef<ModuleOp> copy = main->getParentOfType<ModuleOp>().clone();
  PassManager passes(main.getContext());
  passes.enableVerifier(false);
  addPassesAfterResiduals(passes, target.str());
  if (failed(passes.run(*copy)))
    return failure();
  for (Stage &stage : stages) {
    auto program = copy->lookupSymbol<ProgramOp>(
        ("stage" + Twine(stage.forward.getStage())).str());
    stage.tried.peak = program.getArenaBytes();
    stage.leastPeak = std::min(stage.leastPeak, stage.tried.peak);
    if (stage.tried.peak <= limit &&
        (!stage.best || stage.tried.work < stage.best->work ||
         (stage.tried.work == stage.best->work &&
          stage.tried.peak < stage.best->peak)))
      stage.best = stage.tried;
  }
  return success();
}

LogicalResult MemoryFitter::tryTechnique(Remat remat) {
  for (Stage &stage : stages) {
    ResidualGraph graph(stage.forward, stage.backward, remat, marks);
    const ResidualChoice choice =
        chooseResiduals(graph.getNodes(), /*bytePrice=*/1.0);
    stage.tried = {graph.getKept(choice), graph.getWork(choice), 0, 0};
  }
  return measure();
}

/// Halves the bytes between what fits and what does not.
LogicalResult MemoryFitter::search() {
  auto tryBudget = [](Stage &stage, int64_t budget) {
    if (auto found = fitResiduals(stage.graph.getNodes(), budget, /*steps=*/8))
      stage.tried = {stage.graph.getKept(found->choice),
                     stage.graph.getWork(found->choice), 0,
                     double(found->leastWork)};
  };
  for (Stage &stage : stages) {
    ArrayRef<ResidualNode> nodes = stage.graph.getNodes();
    // Bytes above all, and work above all.
    stage.fits = chooseResiduals(nodes, /*bytePrice=*/1e9).bytes;
    stage.exceeds = chooseResiduals(nodes, /*bytePrice=*/1e-9).bytes;
    tryBudget(stage, stage.fits);
  }
  if (failed(measure()))
    return failure();
  for (unsigned step = 0; step < kSearchSteps; ++step) {
    for (Stage &stage : stages)
      tryBudget(stage, stage.fits + (stage.exceeds - stage.fits) / 2);
    if (failed(measure()))
      return failure();
    for (Stage &stage : stages) {
      const int64_t middle = stage.fits + (stage.exceeds - stage.fits) / 2;
      (stage.tried.peak <= limit ? stage.fits : stage.exceeds) = middle;
    }
  }
  return success();
}

LogicalResult MemoryFitter::refuse() {
  InFlightDiagnostic error = main.emitError("memory-limit=")
                             << pprt::printBytes(double(limit))
                             << " is met by no choice of what is kept: ";
  bool isFirst = true;
  for (const Stage &stage : stages)
    if (!stage.best) {
      error << (isFirst ? "" : ", ") << "a rank of stage "
            << FragmentOp(stage.forward).getStage() << " needs at least "
            << stage.leastPeak << " bytes ("
            << pprt::printBytes(double(stage.leastPeak)) << ")";
      isFirst = false;
    }
  error << "; raise the limit, or split more (precision, zero, microbatches, "
           "pp, tp)";
  setExitCode(error, int(pprt::ExitCode::outOfMemory));
  return error;
}

void MemoryFitter::keepBest() {
  markKept(main, join(stages, [](const Stage &stage) -> const Way & {
             return *stage.best;
           }));
  for (Stage &stage : stages) {
    const Way &best = *stage.best;
    double forwardWork = 0;
    stage.forward.getBody().walk(
        [&](CostOpInterface op) { forwardWork += op.getFlops(); });
    auto share = [&](double work) {
      return llvm::formatv("{0:P1}", work / std::max(forwardWork, 1.0)).str();
    };
    remark::analysis(stage.forward.getLoc(),
                     remark::RemarkOpts::name("recomputation")
                         .category("pp-choose-residuals"))
        << remark::metric("stage", std::to_string(stage.forward.getStage()))
        << remark::metric("peak", pprt::printBytes(double(best.peak)))
        << remark::metric("flops_again", std::to_string(int64_t(best.work)))
        << remark::metric("of_forward", share(best.work))
        << remark::metric("at_least", share(best.leastWork));
  }
}

LogicalResult MemoryFitter::run() {
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
  if (!isDone() && failed(search()))
    return failure();
  if (llvm::any_of(stages, [](const Stage &stage) { return !stage.best; }))
    return refuse();
  keepBest();
  return success();
}

LogicalResult pp::fitMemory(func::FuncOp main, PlanAttr plan,
                            ResidualMarks &marks, StringRef target) {
  return MemoryFitter(main, plan, marks, target).run();
}
