//===- ChooseResiduals.cpp - what forward keeps for backward --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: level 3, whose plan says what may be computed again (`remat`, `keep`,
// `recompute`). Out: a mark (pp.keep) on each forward op whose result is kept
// for backward; pp-rematerialize obeys them.
//
//===----------------------------------------------------------------------===//
#include "FitMemory.h"
#include "ResidualGraph.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Pipelines.h"
#include "llvm/ADT/StringSwitch.h"

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
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attrs::kPlan);
    if (!plan)
      plan = PlanAttr::get(&getContext(), MeshAttr::get(&getContext(), {}));
    const Remat remat = getRemat(plan);
    ResidualMarks marks{ValuePatterns(plan.getWord(PlanKey::Keep)),
                        ValuePatterns(plan.getWord(PlanKey::Recompute))};
    if (remat == Remat::Auto) {
      if (failed(fitMemory(*main, plan, marks, target)))
        return signalPassFailure();
    } else {
      SmallVector<Operation *> kept;
      for (auto [forward, backward] : findResidualPairs(*main)) {
        ResidualGraph graph(forward, backward, remat, marks);
        if (failed(graph.verify()))
          return signalPassFailure();
        llvm::append_range(kept, graph.getKept(chooseResiduals(
                                     graph.getNodes(), /*bytePrice=*/1.0)));
      }
      markKept(*main, kept);
    }
    if (failed(checkMatched("keep", marks.keep)) ||
        failed(checkMatched("recompute", marks.recompute)))
      return signalPassFailure();
  }

  LogicalResult checkMatched(StringRef key, const ValuePatterns &patterns) {
    if (std::optional<StringRef> pattern = patterns.findUnmatched())
      return getOperation().emitError()
             << key << "=\"" << *pattern
             << "\" names no value that backward needs; names are those of "
                "ops' locations, such as h.0.attn, and an op may follow: "
                "\"h.*.attn exp\"";
    return success();
  }
};
} // namespace
