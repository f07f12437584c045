//===- StageRuns.cpp - runs and receives of each stage, in order ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Assumes a module that verifyPipeline accepts. Simulates the schedule with the
// least memory that a stage may have: a run waits until everything that its
// stage has sent is received, as if it overwrote it, and a receive until the
// run listed before it has ended, as if that freed its place. A schedule that
// ends here has no circle of waits wherever slots are placed, since a wait only
// points back in a list.
//
//===----------------------------------------------------------------------===//
#include "StageRuns.h"
#include "pp/IR/Model.h"
#include "pp/Schedule/Schedule.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pp;

int64_t pp::instanceOf(FragmentOp fragment, int64_t microBatch) {
  return isOncePerStep(fragment.getPhase()) ? -1
                                            : std::max<int64_t>(microBatch, 0);
}

InFlightDiagnostic pp::reportMissing(Operation *reader, int64_t stage,
                                     int64_t microBatch, Value value) {
  InFlightDiagnostic diagnostic = reader->emitOpError()
                                  << "expects a value that stage " << stage
                                  << " has by then";
  if (microBatch >= 0)
    diagnostic << " for micro-batch " << microBatch;
  diagnostic << "; pp.schedule runs what computes it later, or not at all";
  diagnostic.attachNote(value.getLoc()) << "computed here";
  return diagnostic;
}

static FragmentOp findFragment(func::FuncOp main, Phase phase, int64_t stage) {
  for (auto fragment : main.getOps<FragmentOp>())
    if (fragment.getPhase() == phase &&
        static_cast<int64_t>(fragment.getStage()) == stage)
      return fragment;
  return {};
}

/// The runs of one stage, nothing received.
static StageRuns listRuns(func::FuncOp main, int64_t stage, StringRef actions) {
  StageRuns list;
  llvm::DenseMap<int, FragmentOp> fragments;
  for (Phase phase : {Phase::Prologue, Phase::Forward, Phase::Backward,
                      Phase::Weight, Phase::Update})
    fragments[int(phase)] = findFragment(main, phase, stage);
  auto add = [&](Phase phase, int64_t microBatch) {
    if (FragmentOp fragment = fragments.lookup(int(phase)))
      list.runs.push_back({fragment, microBatch});
  };
  add(Phase::Prologue, -1);
  SmallVector<StringRef> words;
  actions.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    std::optional<schedule::Action> action = schedule::parseAction(word.str());
    add(action->kind == schedule::Kind::Forward    ? Phase::Forward
        : action->kind == schedule::Kind::Backward ? Phase::Backward
                                                   : Phase::Weight,
        action->microBatch);
  }
  add(Phase::Update, -1);
  list.receives.resize(list.runs.size() + 1);
  return list;
}

namespace {

/// Runs all stages side by side, and records when each value is received.
class Rendezvous {
public:
  Rendezvous(func::FuncOp main, std::vector<StageRuns> &stages);

  LogicalResult run();

private:
  /// The progress of a stage, and the stages that have not yet received values
  /// of its last run. All have before the next run.
  struct Progress {
    size_t next = 0;
    SmallVector<int64_t> waiting;
  };

  std::optional<Run> nextRun(int64_t stage) const {
    const StageRuns &list = stages[stage];
    size_t next = progress[stage].next;
    return next < list.runs.size() ? std::optional(list.runs[next])
                                   : std::nullopt;
  }
  /// True if only the update is left of the step. It may reduce over stages, so
  /// none begins before everything else has run and is received.
  bool isPastActions(int64_t stage) const {
    std::optional<Run> next = nextRun(stage);
    return !next || next->fragment.getPhase() == Phase::Update;
  }
  bool hasRun(RunPlace run) const {
    return run.index < progress[run.stage].next;
  }
  /// The place at which `stage` gets the value of `transfer` for its next run.
  RunPlace findSource(TransferOp transfer, int64_t microBatch) const;

  bool receive(int64_t source, int64_t target);
  bool advance(int64_t stage);
  /// The stage that must go on before `stage` can; `missing` is the value that
  /// it has to compute, if that is the reason. `stage` itself if no stage will.
  std::optional<int64_t> findObstacle(int64_t stage, Value &missing) const;
  LogicalResult receiveInCircle();

  std::vector<StageRuns> &stages;
  std::vector<Progress> progress;
  /// Per fragment: the stages that it sends to.
  llvm::DenseMap<Operation *, llvm::SmallSetVector<int64_t, 2>> targets;
  /// Place in its stage's list, by fragment and instance.
  llvm::DenseMap<std::pair<Operation *, int64_t>, size_t> places;
};

Rendezvous::Rendezvous(func::FuncOp main, std::vector<StageRuns> &stages)
    : stages(stages), progress(stages.size()) {
  for (auto transfer : main.getOps<TransferOp>())
    targets[transfer.getOperand().getDefiningOp()].insert(transfer.getTarget());
  for (const StageRuns &list : stages)
    for (auto [index, run] : llvm::enumerate(list.runs))
      places[{run.fragment, instanceOf(run.fragment, run.microBatch)}] = index;
}

RunPlace Rendezvous::findSource(TransferOp transfer, int64_t microBatch) const {
  auto source = cast<FragmentOp>(transfer.getOperand().getDefiningOp());
  auto place = places.find({source, instanceOf(source, microBatch)});
  return {static_cast<int64_t>(source.getStage()),
          place == places.end() ? ~size_t(0) : place->second};
}

/// Lets `target` receive the values that the last run of `source` sends to it,
/// before the next run of `target`.
bool Rendezvous::receive(int64_t source, int64_t target) {
  Progress &sender = progress[source];
  int64_t *entry = llvm::find(sender.waiting, target);
  if (entry == sender.waiting.end())
    return false;
  sender.waiting.erase(entry);
  stages[target].receives[progress[target].next].push_back(
      {source, sender.next - 1});
  return true;
}

/// Receives the operands of the next run of `stage`, then runs it; false if
/// neither is possible yet.
bool Rendezvous::advance(int64_t stage) {
  bool received = false;
  std::optional<Run> run = nextRun(stage);
  if (isPastActions(stage))
    for (int64_t source = 0; source < int64_t(stages.size()); ++source)
      received |= receive(source, stage);
  else
    for (Value operand : run->fragment.getOperands())
      if (auto transfer = operand.getDefiningOp<TransferOp>()) {
        RunPlace source = findSource(transfer, run->microBatch);
        if (source.index + 1 == progress[source.stage].next)
          received |= receive(source.stage, stage);
      }
  Value missing;
  if (!run || findObstacle(stage, missing))
    return received;
  auto sent = targets.find(run->fragment);
  if (sent != targets.end())
    llvm::append_range(progress[stage].waiting, sent->second);
  ++progress[stage].next;
  return true;
}

std::optional<int64_t> Rendezvous::findObstacle(int64_t stage,
                                                Value &missing) const {
  if (!progress[stage].waiting.empty())
    return progress[stage].waiting.front();
  std::optional<Run> run = nextRun(stage);
  if (isPastActions(stage))
    for (int64_t other = 0; other < int64_t(stages.size()); ++other)
      if (!isPastActions(other))
        return other;
  if (!run)
    return std::nullopt;
  for (Value operand : run->fragment.getOperands())
    if (auto transfer = operand.getDefiningOp<TransferOp>())
      if (RunPlace source = findSource(transfer, run->microBatch);
          !hasRun(source)) {
        missing = operand;
        bool isEver = source.index < stages[source.stage].runs.size();
        return isEver ? source.stage : stage;
      }
  return std::nullopt;
}

/// If no stage can go on, there is a circle of stages that wait for each other.
/// There, the stages that are awaited as receivers receive.
LogicalResult Rendezvous::receiveInCircle() {
  Value missing;
  int64_t stage = 0;
  while (!nextRun(stage))
    ++stage;
  for (size_t step = 0; step < stages.size(); ++step)
    stage = *findObstacle(stage, missing);
  bool received = false;
  int64_t first = stage;
  do {
    int64_t next = *findObstacle(stage, missing);
    received |= receive(stage, next);
    stage = next;
  } while (stage != first);
  if (received)
    return success();
  (void)findObstacle(stage, missing);
  std::optional<Run> run = nextRun(stage);
  return reportMissing(run->fragment, stage, run->microBatch, missing);
}

LogicalResult Rendezvous::run() {
  auto isDone = [&](int64_t stage) { return !nextRun(stage); };
  auto all = llvm::seq<int64_t>(stages.size());
  for (;;) {
    bool moved = false;
    for (int64_t stage : all)
      while (advance(stage))
        moved = true;
    if (moved)
      continue;
    if (llvm::all_of(all, isDone))
      return success();
    if (failed(receiveInCircle()))
      return failure();
  }
}

} // namespace

FailureOr<std::vector<StageRuns>> pp::listStageRuns(func::FuncOp main,
                                                    ScheduleAttr schedule) {
  std::vector<StageRuns> stages;
  for (auto [stage, actions] : llvm::enumerate(schedule.getRanks()))
    stages.push_back(listRuns(main, stage, actions.getValue()));
  if (failed(Rendezvous(main, stages).run()))
    return failure();
  return stages;
}
