//===- ZeroBubble.cpp - ZB-H1 and ZB-H2 -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// 1F1B with the gradients of weights apart: no other rank waits for these, so
// they fill what would be idle. Both variants run forward passes ahead, then
// alternate, and rank r has r (H1) or 2 r (H2) micro-batches whose weights'
// gradients are due, so that all ranks end with the same work. Expects one
// stage per rank.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Algorithms.h"

#include <algorithm>

using namespace pp::schedule;

/// Forward passes ahead of the first backward one: `ahead` for each rank
/// behind. Weights' gradients due: `due` for each rank before.
static Schedule generateZeroBubble(const char *name,
                                   const ScheduleProblem &problem,
                                   unsigned ahead, unsigned due) {
  const unsigned m = problem.microBatches;
  Schedule schedule{name, problem.stages(), m, {}};
  for (unsigned rank = 0; rank < problem.ranks; ++rank) {
    std::vector<Action> &actions = schedule.ranks.emplace_back();
    unsigned forward = 0, weight = 0;
    const unsigned warmUp = std::min(ahead * (problem.ranks - rank - 1), m);
    while (forward < warmUp)
      actions.push_back({rank, Kind::Forward, forward++});
    for (unsigned backward = 0; backward < m; ++backward) {
      if (forward < m)
        actions.push_back({rank, Kind::Forward, forward++});
      actions.push_back({rank, Kind::Backward, backward});
      if (backward >= due * rank)
        actions.push_back({rank, Kind::Weight, weight++});
    }
    while (weight < m)
      actions.push_back({rank, Kind::Weight, weight++});
  }
  return schedule;
}

Schedule pp::schedule::generateZeroBubbleH1(const ScheduleProblem &problem) {
  return generateZeroBubble("zb-h1", problem, 1, 1);
}

Schedule pp::schedule::generateZeroBubbleH2(const ScheduleProblem &problem) {
  return generateZeroBubble("zb-h2", problem, 2, 2);
}
