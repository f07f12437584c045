//===- GPipe.cpp - All forward, then all backward -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Expects one stage per rank. Backward passes run in the order of the forward
// passes, so that gradients are added in the same order as in every other
// schedule.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Algorithms.h"

using namespace pp::schedule;

Schedule pp::schedule::generateGPipe(const ScheduleProblem &problem) {
  Schedule schedule{"gpipe", problem.stages(), problem.microBatches, {}};
  for (unsigned rank = 0; rank < problem.ranks; ++rank) {
    std::vector<Action> &actions = schedule.ranks.emplace_back();
    for (Kind kind : {Kind::Forward, Kind::Backward})
      for (unsigned m = 0; m < problem.microBatches; ++m)
        actions.push_back({rank, kind, m});
  }
  return schedule;
}
