//===- Schedule.cpp - order the work of each position ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Writes the order that the plan asks for down as `pp.schedule`, before
// anything is cut: how many stages there are and where they lie is part of it.
// A module that has it already has the same, or is refused.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "pp/IR/Model.h"
#include "pp/Planner/ChooseSchedule.h"
#include "pp/Schedule/Simulate.h"
#include "pp/Transforms/Passes.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_SCHEDULE
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// Reports the costs of the order if stages are equal: idle time and memory.
void remarkSchedule(func::FuncOp main, const schedule::Schedule &schedule) {
  if (!main.getContext()->getRemarkEngine())
    return;
  schedule::Timeline timeline =
      schedule::simulate(schedule, schedule::Durations::usual());
  for (unsigned position = 0; position < schedule.ranks.size(); ++position)
    remark::analysis(
        main.getLoc(),
        remark::RemarkOpts::name("schedule").category("pp-schedule"))
        << remark::metric("schedule", schedule.name)
        << remark::metric(StringRef(schedule::rowName(schedule)).trim(),
                          std::to_string(position))
        << remark::metric("microbatches", std::to_string(schedule.microBatches))
        << remark::metric(
               "most_in_flight",
               std::to_string(schedule::peakInFlight(schedule, position)))
        << remark::metric("ideal_bubble",
                          schedule::printBubble(timeline.bubble(position)));
}

/// Ops of levels 1 and 2, or fragments.
bool hasBackward(func::FuncOp main) {
  return llvm::any_of(main.getOps(), [](Operation &op) {
    auto fragment = dyn_cast<FragmentOp>(op);
    const Phase phase = fragment ? fragment.getPhase() : getPhase(&op);
    return phase == Phase::Backward || phase == Phase::Weight;
  });
}

ScheduleAttr spell(MLIRContext *context, const schedule::Schedule &schedule) {
  Builder builder(context);
  SmallVector<StringAttr> positions;
  for (const std::vector<schedule::Action> &actions : schedule.ranks) {
    std::string line;
    for (const schedule::Action &action : actions)
      line += (line.empty() ? "" : " ") + schedule::print(action);
    positions.push_back(builder.getStringAttr(line));
  }
  return ScheduleAttr::get(context, builder.getStringAttr(schedule.name),
                           positions);
}

struct SchedulePass : pp::impl::ScheduleBase<SchedulePass> {
  void runOnOperation() override {
    auto main = lookupMain(getOperation());
    auto plan = lookupPlan(getOperation());
    if (failed(main) || failed(plan))
      return signalPassFailure();
    // A file may have changed since, or be elsewhere: its table is the
    // module's.
    const auto given = (*main)->getAttrOfType<ScheduleAttr>(attrs::kSchedule);
    if (given && given.getName() == plan->getSchedule() &&
        plan->getSchedule().ends_with(".csv"))
      return markAllAnalysesPreserved();
    auto schedule = chooseSchedule(*main, *plan);
    if (failed(schedule))
      return signalPassFailure();
    // A program that evaluates has no other work.
    if (!hasBackward(*main))
      for (std::vector<schedule::Action> &actions : schedule->ranks)
        llvm::erase_if(actions, [](const schedule::Action &action) {
          return action.kind != schedule::Kind::Forward;
        });
    const ScheduleAttr chosen = spell(&getContext(), *schedule);
    if (given == chosen)
      return markAllAnalysesPreserved();
    if (given) {
      main->emitError("expects pp.schedule to be what the plan's schedule=")
          << plan->getSchedule()
          << " says, got another table: leave it out, or write it to a file "
             "(--emit=schedule) and pass schedule=FILE.csv";
      return signalPassFailure();
    }
    remarkSchedule(*main, *schedule);
    (*main)->setAttr(attrs::kSchedule, chosen);
  }
};

} // namespace
