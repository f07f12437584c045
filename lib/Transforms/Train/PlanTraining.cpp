//===- PlanTraining.cpp - the plan of the training step -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a model with a plan. Out: the same with the plan, and the order of
// actions, that its training step obeys, of which a forward pass alone does not
// show what it costs.
//
//===----------------------------------------------------------------------===//
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Model.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Pipelines.h"
#include "pp/Transforms/Shard/DivideAxes.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_PLANTRAINING
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {
struct PlanTrainingPass : pp::impl::PlanTrainingBase<PlanTrainingPass> {
  using PlanTrainingBase::PlanTrainingBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager passes(ModuleOp::getOperationName());
    addPassesToSeeds(passes, target);
    passes.getDependentDialects(registry);
  }

  void runOnModule() override {
    auto plan = lookupPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    const MeshAttr mesh = plan->getMesh();
    const bool isCut = !mesh.getStageAxis() || !plan->getCuts().empty();
    const bool isOrdered = plan->getSchedule() != "auto";
    if (mesh.getAxes().empty() ||
        (isCut && isOrdered && !plan->getSeeds().empty()))
      return;
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    if (failed(runOnCopy(*copy, [&](OpPassManager &passes) {
          addPassesToSeeds(passes, target);
        })))
      return signalPassFailure();
    auto chosen = lookupPlan(*copy);
    if (failed(chosen))
      return signalPassFailure();
    setPlan(getOperation(), *chosen);
    if (isOrdered)
      return;
    auto main = lookupMain(getOperation()), trained = lookupMain(*copy);
    if (failed(main) || failed(trained))
      return signalPassFailure();
    (*main)->setAttr(attrs::kSchedule, (*trained)->getAttr(attrs::kSchedule));
  }
};
} // namespace
