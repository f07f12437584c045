//===- ChooseResiduals.cpp - what forward keeps for backward --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: level 3, whose plan says what may be computed again (`remat`). Out: a
// mark (pp.keep) on each forward op whose result is kept for backward;
// pp-rematerialize obeys them.
//
//===----------------------------------------------------------------------===//
#include "ResidualGraph.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_CHOOSERESIDUALS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

static Remat getRemat(PlanAttr plan) {
  if (!plan)
    return Remat::Cheap;
  return llvm::StringSwitch<Remat>(plan.getWord(PlanKey::Remat))
      .Case("none", Remat::None)
      .Case("selective", Remat::Selective)
      .Case("full", Remat::Full)
      .Default(Remat::Cheap);
}

namespace {
struct ChooseResidualsPass
    : pp::impl::ChooseResidualsBase<ChooseResidualsPass> {
  void runOnModule() override {
    auto main = lookupSplitMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    const Remat remat =
        getRemat(getOperation()->getAttrOfType<PlanAttr>(attrs::kPlan));
    for (auto [forward, backward] : findResidualPairs(*main)) {
      ResidualGraph graph(forward, backward, remat);
      graph.mark(chooseResiduals(graph.getNodes(), /*bytePrice=*/1.0));
    }
  }
};
} // namespace
