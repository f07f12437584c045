//===- Verify.cpp - checks a schedule -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Trusts nothing about the schedule: generated ones and those read from files
// pass the same checks.
//
//===----------------------------------------------------------------------===//
#include "Replay.h"

using namespace pp::schedule;

namespace {
/// Runs the checks; the first that fails leaves its message in `error`.
class Verifier {
public:
  Verifier(const Schedule &schedule, std::string &error)
      : schedule(schedule), error(error) {}

  bool run() {
    return checkSizes() && checkActions() && checkCounts() && checkProgress();
  }

private:
  bool checkSizes();
  bool checkActions();
  bool checkCounts();
  bool checkProgress();

  bool fail(const std::string &message) {
    error = message;
    return false;
  }
  bool failAt(size_t rank, size_t index, const std::string &message) {
    return fail(rowName(schedule) + std::to_string(rank) + ", action " +
                std::to_string(index) + ": " + message + "\n" +
                printGrid(schedule, rank, index));
  }
  bool hasSeen(const Action &action) const {
    return seen[actionNumber(action, schedule.microBatches)];
  }

  const Schedule &schedule;
  std::string &error;
  std::vector<bool> seen;
};
} // namespace

bool Verifier::checkSizes() {
  if (schedule.stages == 0 || schedule.stages > maxStages)
    return fail("expects between 1 and " + std::to_string(maxStages) +
                " stages, got " + std::to_string(schedule.stages));
  if (schedule.microBatches == 0 || schedule.microBatches > maxMicroBatches)
    return fail("expects between 1 and " + std::to_string(maxMicroBatches) +
                " micro-batches, got " + std::to_string(schedule.microBatches));
  if (size_t(schedule.stages) * schedule.microBatches > maxActions)
    return fail("expects at most " + std::to_string(maxActions) +
                " pairs of stage and micro-batch, got " +
                std::to_string(schedule.stages) + " x " +
                std::to_string(schedule.microBatches));
  return true;
}

/// Every action on its own: in range, not repeated, its stage on one rank, and
/// after the action of the same stage that it needs.
bool Verifier::checkActions() {
  constexpr size_t nowhere = ~size_t(0);
  std::vector<size_t> rankOf(schedule.stages, nowhere);
  seen.assign(3 * size_t(schedule.stages) * schedule.microBatches, false);
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Action &action = schedule.ranks[rank][i];
      if (action.stage >= schedule.stages)
        return failAt(rank, i,
                      "expects a stage below " +
                          std::to_string(schedule.stages) + ", got " +
                          print(action));
      if (action.microBatch >= schedule.microBatches)
        return failAt(rank, i,
                      "expects a micro-batch below " +
                          std::to_string(schedule.microBatches) + ", got " +
                          print(action));
      if (hasSeen(action))
        return failAt(rank, i,
                      "expects every action once, got a second " +
                          print(action));
      size_t &home = rankOf[action.stage];
      if (home == nowhere)
        home = rank;
      if (home != rank)
        return failAt(rank, i,
                      "expects stage " + std::to_string(action.stage) +
                          " at position " + std::to_string(home) +
                          " only, got " + print(action));
      for (const Action &needed : dependencies(schedule, action))
        if (needed.stage == action.stage && !hasSeen(needed))
          return failAt(rank, i,
                        "expects " + print(needed) + " first, got " +
                            print(action));
      seen[actionNumber(action, schedule.microBatches)] = true;
    }
  }
  return true;
}

/// All have forward work; backward work all have or none.
bool Verifier::checkCounts() {
  bool hasBackward = false;
  for (const std::vector<Action> &actions : schedule.ranks)
    for (const Action &action : actions)
      hasBackward |= action.kind != Kind::Forward;
  for (unsigned stage = 0; stage < schedule.stages; ++stage)
    for (unsigned m = 0; m < schedule.microBatches; ++m)
      for (Kind kind : {Kind::Forward, Kind::Backward})
        if (Action action{stage, kind, m};
            !hasSeen(action) && (kind == Kind::Forward || hasBackward))
          return fail("expects every stage to run forward and backward on "
                      "every micro-batch, got no " +
                      print(action) + "\n" + printGrid(schedule));
  return true;
}

/// No rank waits forever. If one does, so does the rank it waits for: that
/// chain ends in a cycle, which the message shows.
bool Verifier::checkProgress() {
  std::vector<size_t> position = replay(schedule, [](unsigned, size_t) {});
  std::vector<unsigned> rankOf = stageRanks(schedule);
  std::vector<bool> done(seen.size());
  for (size_t rank = 0; rank < position.size(); ++rank)
    for (size_t i = 0; i < position[rank]; ++i)
      done[actionNumber(schedule.ranks[rank][i], schedule.microBatches)] = true;
  auto isStuck = [&](size_t rank) {
    return position[rank] < schedule.ranks[rank].size();
  };
  auto awaited = [&](size_t rank) {
    for (const Action &needed :
         dependencies(schedule, schedule.ranks[rank][position[rank]]))
      if (!done[actionNumber(needed, schedule.microBatches)])
        return needed;
    return schedule.ranks[rank][position[rank]];
  };

  size_t rank = 0;
  while (rank < position.size() && !isStuck(rank))
    ++rank;
  if (rank == position.size())
    return true;
  // After as many steps as there are ranks the chain is inside its cycle.
  for (size_t step = 0; step < position.size(); ++step)
    rank = rankOf[awaited(rank).stage];
  std::string message = "expects an order that can be run, got a deadlock";
  size_t first = rank;
  do {
    Action needed = awaited(rank);
    message += (rank == first ? ": " : ", ");
    message += rowName(schedule) + std::to_string(rank) + " at " +
               print(schedule.ranks[rank][position[rank]]) + " waits for " +
               print(needed);
    rank = rankOf[needed.stage];
  } while (rank != first);
  return failAt(first, position[first], message);
}

bool pp::schedule::verify(const Schedule &schedule, std::string &error) {
  return Verifier(schedule, error).run();
}
