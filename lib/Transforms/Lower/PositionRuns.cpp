//===- PositionRuns.cpp - runs and receives of positions, in order --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Assumes a module that verifyPipeline accepts. Simulates the schedule with the
// least memory that a position may have: a run waits until everything that its
// position has sent is received, as if it overwrote it, and a receive until the
// run listed before it has ended, as if that freed its place. A schedule that
// ends here has no circle of waits wherever slots are placed, since a wait only
// points back in a list. Then some values are received earlier, so that no
// sender waits for a reader that is not yet ready.
//
//===----------------------------------------------------------------------===//
#include "PositionRuns.h"
#include "pp/IR/Model.h"
#include "pp/Schedule/Simulate.h"
#include "llvm/ADT/SetVector.h"
#include <limits>

using namespace mlir;
using namespace pp;

int64_t pp::instanceOf(FragmentOp fragment, int64_t microBatch) {
  return isOncePerStep(fragment.getPhase()) ? -1
                                            : std::max<int64_t>(microBatch, 0);
}

InFlightDiagnostic pp::reportMissing(Operation *reader, int64_t position,
                                     int64_t microBatch, Value value) {
  InFlightDiagnostic diagnostic = reader->emitOpError()
                                  << "expects a value that position "
                                  << position << " has by then";
  if (microBatch >= 0)
    diagnostic << " for micro-batch " << microBatch;
  diagnostic << "; pp.schedule runs what computes it later, or not at all";
  diagnostic.attachNote(value.getLoc()) << "computed here";
  return diagnostic;
}

/// The runs of one position, nothing received.
static PositionRuns
listRuns(const llvm::DenseMap<std::pair<int, int64_t>, FragmentOp> &fragments,
         int64_t position, ArrayRef<schedule::TimedAction> actions) {
  constexpr double never = std::numeric_limits<double>::infinity();
  PositionRuns list;
  auto add = [&](Phase phase, int64_t place, int64_t microBatch, double start) {
    if (FragmentOp fragment = fragments.lookup({int(phase), place})) {
      list.runs.push_back({fragment, microBatch});
      list.starts.push_back(start);
    }
  };
  add(Phase::Prologue, position, -1, -never);
  for (const auto &[action, start, end] : actions)
    add(action.kind == schedule::Kind::Forward    ? Phase::Forward
        : action.kind == schedule::Kind::Backward ? Phase::Backward
                                                  : Phase::Weight,
        action.stage, action.microBatch, start);
  add(Phase::Update, position, -1, never);
  list.receives.resize(list.runs.size() + 1);
  return list;
}

namespace {

/// Runs all positions side by side, and records when each value is received.
class Rendezvous {
public:
  Rendezvous(func::FuncOp main, std::vector<PositionRuns> &positions);

  LogicalResult run();

private:
  /// The progress of a position, and the positions that have not yet received
  /// values of its last run. All have before the next run.
  struct Progress {
    size_t next = 0;
    SmallVector<int64_t> waiting;
  };

  std::optional<Run> nextRun(int64_t position) const {
    const PositionRuns &list = positions[position];
    size_t next = progress[position].next;
    return next < list.runs.size() ? std::optional(list.runs[next])
                                   : std::nullopt;
  }
  /// True if only the update is left of the step. It may reduce over positions,
  /// so none begins before everything else has run and is received.
  bool isPastActions(int64_t position) const {
    std::optional<Run> next = nextRun(position);
    return !next || next->fragment.getPhase() == Phase::Update;
  }
  bool hasRun(RunPlace run) const {
    return run.index < progress[run.position].next;
  }
  /// The place at which `position` gets the value of `transfer` for its next
  /// run.
  RunPlace findSource(TransferOp transfer, int64_t microBatch) const;

  bool receive(int64_t source, int64_t target);
  bool advance(int64_t position);
  /// The position that must go on before `position` can; `missing` is the value
  /// that it has to compute, if that is the reason. `position` itself if no
  /// position will.
  std::optional<int64_t> findObstacle(int64_t position, Value &missing) const;
  LogicalResult receiveInCircle();

  std::vector<PositionRuns> &positions;
  std::vector<Progress> progress;
  /// Per fragment: the positions that it sends to.
  llvm::DenseMap<Operation *, llvm::SmallSetVector<int64_t, 2>> targets;
  /// Place in its position's list, by fragment and instance.
  llvm::DenseMap<std::pair<Operation *, int64_t>, size_t> places;
};

Rendezvous::Rendezvous(func::FuncOp main, std::vector<PositionRuns> &positions)
    : positions(positions), progress(positions.size()) {
  for (auto transfer : main.getOps<TransferOp>())
    targets[transfer.getOperand().getDefiningOp()].insert(transfer.getTarget());
  for (const PositionRuns &list : positions)
    for (auto [index, run] : llvm::enumerate(list.runs))
      places[{run.fragment, instanceOf(run.fragment, run.microBatch)}] = index;
}

RunPlace Rendezvous::findSource(TransferOp transfer, int64_t microBatch) const {
  auto source = cast<FragmentOp>(transfer.getOperand().getDefiningOp());
  auto place = places.find({source, instanceOf(source, microBatch)});
  return {source.getHolder(),
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
  positions[target].receives[progress[target].next].push_back(
      {source, sender.next - 1});
  return true;
}

/// Receives the operands of the next run of `position`, then runs it; false if
/// neither is possible yet.
bool Rendezvous::advance(int64_t position) {
  bool received = false;
  std::optional<Run> run = nextRun(position);
  if (isPastActions(position))
    for (int64_t source = 0; source < int64_t(positions.size()); ++source)
      received |= receive(source, position);
  else
    for (Value operand : run->fragment.getOperands())
      if (auto transfer = operand.getDefiningOp<TransferOp>()) {
        RunPlace source = findSource(transfer, run->microBatch);
        if (source.index + 1 == progress[source.position].next)
          received |= receive(source.position, position);
      }
  Value missing;
  if (!run || findObstacle(position, missing))
    return received;
  auto sent = targets.find(run->fragment);
  if (sent != targets.end())
    llvm::append_range(progress[position].waiting, sent->second);
  ++progress[position].next;
  return true;
}

std::optional<int64_t> Rendezvous::findObstacle(int64_t position,
                                                Value &missing) const {
  if (!progress[position].waiting.empty())
    return progress[position].waiting.front();
  std::optional<Run> run = nextRun(position);
  if (isPastActions(position))
    for (int64_t other = 0; other < int64_t(positions.size()); ++other)
      if (!isPastActions(other))
        return other;
  if (!run)
    return std::nullopt;
  for (Value operand : run->fragment.getOperands())
    if (auto transfer = operand.getDefiningOp<TransferOp>())
      if (RunPlace source = findSource(transfer, run->microBatch);
          !hasRun(source)) {
        missing = operand;
        bool isEver = source.index < positions[source.position].runs.size();
        return isEver ? source.position : position;
      }
  return std::nullopt;
}

/// If no position can go on, there is a circle of positions that wait for each
/// other. There, the positions that are awaited as receivers receive.
LogicalResult Rendezvous::receiveInCircle() {
  Value missing;
  int64_t position = 0;
  while (!nextRun(position))
    ++position;
  for (size_t step = 0; step < positions.size(); ++step)
    position = *findObstacle(position, missing);
  bool received = false;
  int64_t first = position;
  do {
    int64_t next = *findObstacle(position, missing);
    received |= receive(position, next);
    position = next;
  } while (position != first);
  if (received)
    return success();
  (void)findObstacle(position, missing);
  std::optional<Run> run = nextRun(position);
  return reportMissing(run->fragment, position, run->microBatch, missing);
}

LogicalResult Rendezvous::run() {
  auto isDone = [&](int64_t position) { return !nextRun(position); };
  auto all = llvm::seq<int64_t>(positions.size());
  for (;;) {
    bool moved = false;
    for (int64_t position : all)
      while (advance(position))
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

/// The next run of a position may take the bytes of what was just sent. By then
/// that is received, if its reader comes more than a run later: it would let
/// the sender wait.
static void receiveInTime(std::vector<PositionRuns> &positions) {
  for (PositionRuns &list : positions)
    for (size_t reader = 0; reader < list.receives.size(); ++reader)
      llvm::erase_if(list.receives[reader], [&](RunPlace source) {
        const std::vector<double> &starts = positions[source.position].starts;
        if (source.index + 1 >= starts.size())
          return false;
        const size_t place =
            llvm::lower_bound(list.starts, starts[source.index + 1]) -
            list.starts.begin();
        if (place >= reader)
          return false;
        list.receives[place].push_back(source);
        return true;
      });
}

FailureOr<std::vector<PositionRuns>>
pp::listPositionRuns(func::FuncOp main, ScheduleAttr schedule) {
  llvm::DenseMap<std::pair<int, int64_t>, FragmentOp> fragments;
  for (auto fragment : main.getOps<FragmentOp>())
    fragments[{int(fragment.getPhase()), fragment.getStageOrPosition()}] =
        fragment;
  std::vector<PositionRuns> positions;
  const schedule::Schedule table = schedule.getTable();
  const schedule::Timeline timeline =
      schedule::simulate(table, schedule::Durations::usual());
  for (auto [position, actions] : llvm::enumerate(timeline.ranks))
    positions.push_back(listRuns(fragments, position, actions));
  if (failed(Rendezvous(main, positions).run()))
    return failure();
  receiveInTime(positions);
  return positions;
}
