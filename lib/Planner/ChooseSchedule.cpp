//===- ChooseSchedule.cpp - the order that a plan asks for ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/ChooseSchedule.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Schedule/Algorithms.h"

using namespace mlir;
using namespace pp;

/// Actions are few bytes each; the largest schedule has 2^24 pairs of stage and
/// micro-batch.
static constexpr uint64_t kMostBytes = uint64_t(1) << 30;

/// The first action of a micro-batch that a step of `count` does not have, and
/// its row.
static std::string findMore(const schedule::Schedule &schedule,
                            unsigned count) {
  for (auto [row, actions] : llvm::enumerate(schedule.ranks))
    for (const schedule::Action &action : actions)
      if (action.microBatch >= count)
        return " with " + schedule::print(action) + " in row " +
               std::to_string(row + 1);
  return "";
}

static FailureOr<schedule::Schedule>
readSchedule(func::FuncOp main, const std::string &file,
             const schedule::ScheduleProblem &problem) {
  auto fail = [&](const Twine &message) {
    return main.emitError(file + ": " + message);
  };
  FailureOr<std::string> text =
      readFile(main, file, kMostBytes, "a file with a schedule");
  if (failed(text))
    return failure();
  std::string error;
  auto schedule = schedule::parseCsv(*text, error);
  if (!schedule)
    return fail(error);
  if (schedule->ranks.size() != problem.ranks)
    return fail("expects a row of actions for each of " + Twine(problem.ranks) +
                " positions (pp), got " + Twine(schedule->ranks.size()));
  if (schedule->microBatches != problem.microBatches)
    return fail("expects " + Twine(problem.microBatches) +
                " micro-batches (microbatches), got " +
                Twine(schedule->microBatches) +
                findMore(*schedule, problem.microBatches));
  if (!schedule::verify(*schedule, error))
    return fail(error);
  if (problem.chunks && problem.chunks * problem.ranks != schedule->stages)
    return fail("expects " + Twine(problem.chunks * problem.ranks) +
                " stages (pp x chunks), got " + Twine(schedule->stages));
  schedule::completeWeights(*schedule);
  schedule->name = file;
  return *schedule;
}

FailureOr<schedule::Schedule> pp::chooseSchedule(func::FuncOp main,
                                                 PlanAttr plan) {
  schedule::ScheduleProblem problem;
  problem.ranks = unsigned(plan.getMesh().getNumStagePositions());
  problem.microBatches = unsigned(plan.getMesh().getNumMicroBatches());
  problem.chunks = unsigned(plan.getInt(PlanKey::Chunks));
  const std::string name = plan.getSchedule().str();
  if (StringRef(name).ends_with(".csv"))
    return readSchedule(main, name, problem);
  if (name == "auto")
    return main.emitError("schedule=auto is searched by pp-schedule, in a "
                          "training step of level graph that is whole; run it "
                          "first");
  std::string error;
  auto schedule = schedule::generate(name, problem, error);
  if (!schedule)
    return main.emitError(error);
  return *schedule;
}
