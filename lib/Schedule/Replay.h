//===- Replay.h - Run a schedule without computing anything -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The walk that both the verifier and the simulator make: every rank runs its
// list in order, each action as soon as those it depends on have run. Expects
// actions within range, each at most once.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_SCHEDULE_REPLAY_H
#define PP_LIB_SCHEDULE_REPLAY_H

#include "pp/Schedule/Schedule.h"

namespace pp::schedule {

/// A dense number for an action of a schedule with `microBatches`
/// micro-batches; all of them lie below 3 * stages * microBatches.
inline size_t actionNumber(const Action &action, unsigned microBatches) {
  unsigned kind = action.kind == Kind::Forward    ? 0
                  : action.kind == Kind::Backward ? 1
                                                  : 2;
  return (size_t(action.stage) * 3 + kind) * microBatches + action.microBatch;
}

/// Calls `visit(rank, index)` for every action that can run, each after those
/// it depends on. Returns how many actions of each rank have run: fewer than it
/// has means that it waits forever. Time is linear in the number of actions.
template <typename Visit>
std::vector<size_t> replay(const Schedule &schedule, Visit visit) {
  std::vector<size_t> position(schedule.ranks.size(), 0);
  std::vector<bool> done(3 * size_t(schedule.stages) * schedule.microBatches);
  std::vector<unsigned> rankOf = stageRanks(schedule);
  auto isReady = [&](const Action &action) {
    for (const Action &needed : dependencies(schedule, action))
      if (!done[actionNumber(needed, schedule.microBatches)])
        return false;
    return true;
  };

  // Ranks that may be able to go on; an action can only unblock the ranks of
  // the neighbouring stages.
  std::vector<unsigned> worklist;
  for (unsigned rank = schedule.ranks.size(); rank-- > 0;)
    worklist.push_back(rank);
  while (!worklist.empty()) {
    unsigned rank = worklist.back();
    worklist.pop_back();
    const std::vector<Action> &actions = schedule.ranks[rank];
    size_t &next = position[rank];
    while (next < actions.size() && isReady(actions[next])) {
      const Action &action = actions[next];
      visit(rank, next);
      done[actionNumber(action, schedule.microBatches)] = true;
      ++next;
      if (action.kind == Kind::Forward && action.stage + 1 < schedule.stages)
        worklist.push_back(rankOf[action.stage + 1]);
      if (action.kind == Kind::Backward && action.stage > 0)
        worklist.push_back(rankOf[action.stage - 1]);
    }
  }
  return position;
}

} // namespace pp::schedule

#endif // PP_LIB_SCHEDULE_REPLAY_H
