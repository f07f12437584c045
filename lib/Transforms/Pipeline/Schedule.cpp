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
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Planner/ChooseSchedule.h"
#include "pp/Planner/SearchOrder.h"
#include "pp/Predict/Prediction.h"
#include "pp/Schedule/Simulate.h"
#include "pp/Target/Artifact.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Pipelines.h"
#include "pp/Transforms/Shard/DivideAxes.h"
#include "llvm/Support/FormatVariadic.h"

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

/// Whether the table says more than its name, so that it is taken as it is.
bool isOwnTable(StringRef name) {
  return name == "auto" || name.ends_with(".csv");
}

struct SchedulePass : pp::impl::ScheduleBase<SchedulePass> {
  using ScheduleBase::ScheduleBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager rest(ModuleOp::getOperationName());
    addPassesAfterSchedule(rest, target);
    rest.getDependentDialects(registry);
  }

  void runOnOperation() override {
    auto main = lookupMain(getOperation());
    auto plan = lookupPlan(getOperation());
    if (failed(main) || failed(plan))
      return signalPassFailure();
    const auto given = (*main)->getAttrOfType<ScheduleAttr>(attrs::kSchedule);
    const bool isKept = given && isOwnTable(given.getName().getValue()) &&
                        given.getName() == plan->getSchedule();
    auto schedule = isKept ? FailureOr(given.getTable()) : choose(*main, *plan);
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
    if (given && !isKept) {
      main->emitError("expects pp.schedule to be what the plan's schedule=")
          << plan->getSchedule()
          << " says, got another table: leave it out, or write it to a file "
             "(--emit=schedule) and pass schedule=FILE.csv";
      return signalPassFailure();
    }
    if (!given)
      remarkSchedule(*main, *schedule);
    (*main)->setAttr(attrs::kSchedule, chosen);
  }

  FailureOr<schedule::Schedule> choose(func::FuncOp main, PlanAttr plan) {
    const bool isWhole =
        getLevel(getOperation()) == Level::Graph && hasBackward(main);
    if (plan.getSchedule() != "auto" || !isWhole)
      return chooseSchedule(main, plan);
    auto chosen = searchOrder(
        main, plan,
        [&](const schedule::Schedule &order, ArrayRef<int64_t> cuts) {
          return lower(plan, order, cuts);
        });
    if (failed(chosen))
      return failure();
    // They belong to the order: others would have other times.
    setPlan(getOperation(), plan.withCuts(chosen->cuts));
    if (main.getContext()->getRemarkEngine())
      remark::analysis(
          main.getLoc(),
          remark::RemarkOpts::name("search").category("pp-schedule"))
          << remark::metric("stages", std::to_string(chosen->schedule.stages))
          << remark::metric("step_seconds",
                            llvm::formatv("{0:e3}", chosen->stepSeconds).str())
          << remark::metric("gap", llvm::formatv("{0:P1}", chosen->gap).str());
    return std::move(chosen->schedule);
  }

  /// Lowers a copy in this order; it keeps as little as it can where that is
  /// decided later. What passes have to say of a trial is not said.
  FailureOr<LoweredOrder> lower(PlanAttr plan, const schedule::Schedule &order,
                                ArrayRef<int64_t> cuts) {
    ScopedDiagnosticHandler silence(&getContext(),
                                    [](Diagnostic &) { return success(); });
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    auto main = lookupMain(*copy);
    if (failed(main))
      return failure();
    (*main)->setAttr(attrs::kSchedule, spell(&getContext(), order));
    plan = plan.withCuts(cuts);
    if (plan.getWord(PlanKey::Remat) == "auto")
      plan = plan.withSetting(PlanKey::Remat, "full");
    setPlan(*copy, plan);
    if (failed(runOnCopy(*copy, [&](OpPassManager &passes) {
          addPassesAfterSchedule(passes, target);
        })))
      return failure();
    auto built = buildMeshedArtifact(*copy);
    if (failed(built))
      return failure();
    LoweredOrder lowered;
    lowered.stepSeconds =
        predict::predict(*built->artifact, built->mesh).stepSeconds;
    lowered.actionSeconds =
        predict::Durations(*built->artifact, built->mesh).sumActions();
    for (const auto &program : built->artifact->programs)
      lowered.peakBytes.push_back(int64_t(program->arena_bytes));
    return lowered;
  }
};

} // namespace
