//===- OneForwardOneBackward.cpp - 1F1B -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Expects one stage per rank.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Algorithms.h"

#include <algorithm>

using namespace pp::schedule;

Schedule
pp::schedule::generateOneForwardOneBackward(const ScheduleProblem &problem) {
  Schedule schedule{"1f1b", problem.stages(), problem.microBatches, {}};
  for (unsigned rank = 0; rank < problem.ranks; ++rank) {
    std::vector<Action> &actions = schedule.ranks.emplace_back();
    unsigned forward = 0, backward = 0;
    auto runForward = [&] {
      actions.push_back({rank, Kind::Forward, forward++});
    };
    auto runBackward = [&] {
      actions.push_back({rank, Kind::Backward, backward++});
    };
    // Warm-up: the forward passes that later ranks need to start.
    unsigned warmUp = std::min(problem.ranks - rank - 1, problem.microBatches);
    while (forward < warmUp)
      runForward();
    // Steady state: one in, one out.
    while (forward < problem.microBatches) {
      runForward();
      runBackward();
    }
    // Drain.
    while (backward < problem.microBatches)
      runBackward();
  }
  return schedule;
}
