//===- Schedule.cpp - order the work of each position ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Asks the schedule library and writes its answer down as `pp.schedule`, before
// anything is cut: how many stages there are and where they lie is part of it.
// A schedule that is there already stays.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Schedule/Algorithms.h"
#include "pp/Schedule/Simulate.h"
#include "pp/Transforms/Passes.h"
#include "pprt/Files.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_SCHEDULE
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// Most micro-batches that are forward but not yet backward at one time, whose
/// residuals a stage holds.
int64_t countInFlight(ArrayRef<schedule::Action> actions) {
  int64_t now = 0, most = 0;
  for (const schedule::Action &action : actions) {
    now += action.kind == schedule::Kind::Forward;
    now -= action.kind == schedule::Kind::Backward;
    most = std::max(most, now);
  }
  return most;
}

/// Reports the costs of the order if stages are equal: idle time and memory.
void remarkSchedule(func::FuncOp main, const schedule::Schedule &schedule) {
  if (!main.getContext()->getRemarkEngine())
    return;
  schedule::Timeline timeline =
      schedule::simulate(schedule, schedule::Durations::usual());
  for (auto [position, actions] : llvm::enumerate(schedule.ranks))
    remark::analysis(
        main.getLoc(),
        remark::RemarkOpts::name("schedule").category("pp-schedule"))
        << remark::metric("schedule", schedule.name)
        << remark::metric(StringRef(schedule::rowName(schedule)).trim(),
                          std::to_string(position))
        << remark::metric("microbatches", std::to_string(schedule.microBatches))
        << remark::metric("most_in_flight",
                          std::to_string(countInFlight(actions)))
        << remark::metric(
               "ideal_bubble",
               llvm::formatv("{0:P1}", timeline.bubble(position)).str());
}

/// Ops of levels 1 and 2, or fragments.
bool hasBackward(func::FuncOp main) {
  return llvm::any_of(main.getOps(), [](Operation &op) {
    auto fragment = dyn_cast<FragmentOp>(op);
    const Phase phase = fragment ? fragment.getPhase() : getPhase(&op);
    return phase == Phase::Backward || phase == Phase::Weight;
  });
}

/// Actions are few bytes each; the largest schedule has 2^24 pairs of stage and
/// micro-batch.
constexpr uint64_t kMostBytes = uint64_t(1) << 30;

/// What a file says, for the positions and micro-batches of `problem`.
FailureOr<schedule::Schedule>
readSchedule(func::FuncOp main, const std::string &file,
             const schedule::ScheduleProblem &problem) {
  auto fail = [&](const Twine &message) {
    return main.emitError(file + ": " + message);
  };
  pprt::Expected<std::string> text = pprt::readFile(file, kMostBytes);
  if (!text) {
    InFlightDiagnostic diagnostic = main.emitError()
                                    << "expects a file with a schedule: "
                                    << text.status().message();
    setExitCode(diagnostic, int(text.status().code()));
    return diagnostic;
  }
  std::string error;
  auto schedule = schedule::parseCsv(*text, error);
  if (!schedule)
    return fail(error);
  if (schedule->ranks.size() != problem.ranks)
    return fail("expects a row of actions for each of " + Twine(problem.ranks) +
                " places (pp), got " + Twine(schedule->ranks.size()));
  if (schedule->microBatches != problem.microBatches)
    return fail("expects " + Twine(problem.microBatches) +
                " micro-batches (microbatches), got " +
                Twine(schedule->microBatches));
  schedule::completeWeights(*schedule);
  if (!schedule::verify(*schedule, error))
    return fail(error);
  if (problem.chunks && problem.chunks * problem.ranks != schedule->stages)
    return fail("expects " + Twine(problem.chunks) +
                " stages for each place (chunks), got " +
                Twine(schedule->stages) + " in all");
  schedule->name = file;
  return *schedule;
}

FailureOr<schedule::Schedule>
chooseSchedule(func::FuncOp main, StringRef name,
               const schedule::ScheduleProblem &problem) {
  if (name.ends_with(".csv"))
    return readSchedule(main, name.str(), problem);
  std::string error;
  auto schedule = schedule::generate(name.str(), problem, error);
  if (!schedule)
    return main.emitError(error);
  return *schedule;
}

struct SchedulePass : pp::impl::ScheduleBase<SchedulePass> {
  void runOnOperation() override {
    auto main = lookupMain(getOperation());
    auto plan = lookupPlan(getOperation());
    if (failed(main) || failed(plan))
      return signalPassFailure();
    MeshAttr mesh = plan->getMesh();
    schedule::ScheduleProblem problem;
    problem.ranks = mesh.getStageAxis() ? mesh.getStageAxis().getSize() : 1;
    problem.microBatches =
        mesh.getTimeAxis() ? mesh.getTimeAxis().getSize() : 1;
    problem.chunks = plan->getInt(PlanKey::Chunks);
    if (auto given = (*main)->getAttrOfType<ScheduleAttr>(attrs::kSchedule);
        given && given.getName() == plan->getSchedule()) {
      schedule::Schedule own{given.getName().str(),
                             unsigned(given.getPositions().size()),
                             problem.microBatches, given.getActions()};
      std::string error;
      if (own.ranks.size() != problem.ranks)
        main->emitError("pp.schedule: expects a list of actions for each of ")
            << problem.ranks << " positions, got " << own.ranks.size();
      else if (!schedule::verify(own, error))
        main->emitError("pp.schedule: ") << error;
      else
        return markAllAnalysesPreserved();
      return signalPassFailure();
    }
    auto result = chooseSchedule(*main, plan->getSchedule(), problem);
    if (failed(result))
      return signalPassFailure();
    // A program that evaluates has no other work.
    if (!hasBackward(*main))
      for (std::vector<schedule::Action> &actions : result->ranks)
        llvm::erase_if(actions, [](const schedule::Action &action) {
          return action.kind != schedule::Kind::Forward;
        });
    remarkSchedule(*main, *result);
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
