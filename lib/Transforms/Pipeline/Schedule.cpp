//===- Schedule.cpp - order each stage's fragments ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Asks the schedule library and writes its answer down as `pp.schedule`.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"
#include "pp/Schedule/Algorithms.h"
#include "pp/Transforms/Passes.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_SCHEDULE
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

struct SchedulePass : pp::impl::ScheduleBase<SchedulePass> {
  void runOnOperation() override {
    auto main = lookupSplitMain(getOperation());
    auto plan = lookupPlan(getOperation());
    if (failed(main) || failed(plan))
      return signalPassFailure();
    MeshAttr mesh = plan->getMesh();
    schedule::ScheduleProblem problem;
    problem.ranks = mesh.getStageAxis() ? mesh.getStageAxis().getSize() : 1;
    problem.microBatches =
        mesh.getTimeAxis() ? mesh.getTimeAxis().getSize() : 1;
    std::string name = plan->getSchedule().str(), error;
    auto result =
        schedule::generate(name.empty() ? "1f1b" : name, problem, error);
    if (!result) {
      main->emitError(error);
      return signalPassFailure();
    }
    Builder builder(&getContext());
    SmallVector<StringAttr> ranks;
    for (const std::vector<schedule::Action> &actions : result->ranks) {
      std::string line;
      for (const schedule::Action &action : actions)
        line += (line.empty() ? "" : " ") + schedule::print(action);
      ranks.push_back(builder.getStringAttr(line));
    }
    (*main)->setAttr(attrs::kSchedule,
                     ScheduleAttr::get(&getContext(),
                                       builder.getStringAttr(result->name),
                                       ranks));
  }
};

} // namespace
