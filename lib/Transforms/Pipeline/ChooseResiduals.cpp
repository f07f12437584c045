//===- ChooseResiduals.cpp - what forward keeps for backward --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: level 3, whose plan says what may be computed again (`remat`, `keep`,
// `recompute`). Out: a mark (pp.keep) on each forward op whose result is kept
// for backward; pp-rematerialize obeys them.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Planner/ResidualSearch.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Pipelines.h"
#include "pprt/Bytes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_CHOOSERESIDUALS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

static Remat getRemat(PlanAttr plan) {
  return llvm::StringSwitch<Remat>(plan.getWord(PlanKey::Remat))
      .Case("none", Remat::None)
      .Case("selective", Remat::Selective)
      .Case("full", Remat::Full)
      .Case("auto", Remat::Auto)
      .Default(Remat::Cheap);
}

namespace {
struct ChooseResidualsPass
    : pp::impl::ChooseResidualsBase<ChooseResidualsPass> {
  using ChooseResidualsBase::ChooseResidualsBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager rest(ModuleOp::getOperationName());
    addPassesAfterResiduals(rest, target);
    rest.getDependentDialects(registry);
  }

  void runOnModule() override {
    auto main = lookupSplitMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    // Nothing is kept for a backward pass that there is not.
    if (llvm::none_of(main->getOps<FragmentOp>(), [](FragmentOp fragment) {
          return fragment.getPhase() == Phase::Backward ||
                 fragment.getPhase() == Phase::Weight;
        }))
      return;
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attrs::kPlan);
    if (!plan)
      plan = PlanAttr::get(&getContext(), MeshAttr::get(&getContext(), {}));
    const Remat remat = getRemat(plan);
    ResidualMarks marks{ValuePatterns(plan.getWord(PlanKey::Keep)),
                        ValuePatterns(plan.getWord(PlanKey::Recompute))};
    if (remat == Remat::Auto) {
      if (failed(fitMemory(*main, plan, marks)))
        return signalPassFailure();
    } else {
      SmallVector<Operation *> kept;
      double work = 0;
      for (auto [forward, backward] : findResidualPairs(*main)) {
        ResidualGraph graph(forward, backward, remat, marks);
        if (failed(graph.verify()))
          return signalPassFailure();
        const ResidualChoice choice =
            chooseResiduals(graph.getNodes(), /*bytePrice=*/1.0);
        llvm::append_range(kept, graph.getKept(choice));
        work += graph.getWork(choice);
      }
      markKept(*main, kept);
      if (remat == Remat::Full && work > 0 && !hasLayers(*main))
        main->emitWarning(
            "remat=full expects ops whose names have the numbers of layers, "
            "such as h.0.attn, got none: all of the forward pass is one layer, "
            "and computed again at once; modules keep names in text with "
            "--mlir-print-debuginfo");
    }
    if (failed(checkMatched("keep", marks.keep)) ||
        failed(checkMatched("recompute", marks.recompute)))
      return signalPassFailure();
  }

  /// Whether names tell layers apart.
  static bool hasLayers(func::FuncOp main) {
    return main
        .walk([](Operation *op) {
          return findLayerName(op).empty() ? WalkResult::advance()
                                           : WalkResult::interrupt();
        })
        .wasInterrupted();
  }

  /// The planner's choice, which it measures by lowering the module.
  LogicalResult fitMemory(func::FuncOp main, PlanAttr plan,
                          ResidualMarks &marks) {
    auto measure = [&](ArrayRef<Operation *> kept) {
      markKept(main, kept);
      return measureStages();
    };
    const int64_t limit =
        *pprt::parseBytes(plan.getWord(PlanKey::MemoryLimit).str());
    auto chosen = searchResiduals(main, limit, marks, measure);
    if (failed(chosen))
      return failure();
    SmallVector<Operation *> kept;
    for (StageResiduals &stage : *chosen) {
      llvm::append_range(kept, stage.kept);
      report(stage);
    }
    markKept(main, kept);
    return success();
  }

  /// The arena of each stage, if the module is lowered as it is marked.
  FailureOr<SmallVector<int64_t>> measureStages() {
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    if (failed(runOnCopy(*copy, [&](OpPassManager &passes) {
          addPassesAfterResiduals(passes, target);
        })))
      return failure();
    auto programs = lookupPrograms(*copy);
    if (failed(programs))
      return failure();
    return llvm::map_to_vector(*programs, [](ProgramOp program) {
      return int64_t(program.getArenaBytes());
    });
  }

  static void report(StageResiduals &stage) {
    double forwardWork = 0;
    stage.forward.getBody().walk(
        [&](CostOpInterface op) { forwardWork += op.getFlops(); });
    auto share = [&](double work) {
      return llvm::formatv("{0:P1}", work / std::max(forwardWork, 1.0)).str();
    };
    remark::analysis(stage.forward.getLoc(),
                     remark::RemarkOpts::name("recomputation")
                         .category("pp-choose-residuals"))
        << remark::metric("stage", std::to_string(*stage.forward.getStage()))
        << remark::metric("peak", pprt::printBytes(double(stage.peak)))
        << remark::metric("flops_again", std::to_string(int64_t(stage.work)))
        << remark::metric("of_forward", share(stage.work))
        << remark::metric("at_least", stage.leastWork ? share(*stage.leastWork)
                                                      : "not known");
  }

  LogicalResult checkMatched(StringRef key, const ValuePatterns &patterns) {
    if (std::optional<StringRef> pattern = patterns.findUnmatched())
      return getOperation().emitError()
             << key << "=\"" << *pattern << "\" names no value that backward "
             << (key == "keep" ? "needs" : "needs and may compute again")
             << "; names are those of ops' locations, such as h.0.attn, and an "
                "op may follow: \"h.*.attn exp\""
             << (key == "keep" ? ""
                               : "; what reduces or exchanges values between "
                                 "devices is never repeated");
    return success();
  }
};
} // namespace
