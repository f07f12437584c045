//===- Interleaved.cpp - Interleaved 1F1B ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Micro-batches go through the pipeline in groups, each through a rank's first
// stage, then through its second, and so on. A group has at least as many
// micro-batches as there are ranks, so that its first result is back at rank 0
// when that has passed on the last; groups are as equal as possible, so any
// number of micro-batches is possible.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Algorithms.h"

#include <algorithm>

using namespace pp::schedule;

Schedule pp::schedule::generateInterleaved(const ScheduleProblem &problem) {
  const unsigned p = problem.ranks, m = problem.microBatches,
                 v = problem.chunks;
  const unsigned groups = std::max(1u, m / p);
  // The larger groups come first.
  auto beginOf = [&](unsigned group) {
    return group * (m / groups) + std::min(group, m % groups);
  };
  // (chunk, micro-batch), the same on all ranks.
  std::vector<std::pair<unsigned, unsigned>> forward, backward;
  for (unsigned group = 0; group < groups; ++group)
    for (unsigned chunk = 0; chunk < v; ++chunk)
      for (unsigned i = beginOf(group); i < beginOf(group + 1); ++i) {
        forward.push_back({chunk, i});
        backward.push_back({v - 1 - chunk, i});
      }

  Schedule schedule{"interleaved-1f1b", problem.stages(), m, {}};
  for (unsigned rank = 0; rank < p; ++rank) {
    std::vector<Action> &actions = schedule.ranks.emplace_back();
    auto run = [&](Kind kind, std::pair<unsigned, unsigned> work) {
      actions.push_back({work.first * p + rank, kind, work.second});
    };
    // Warm-up: the first group through all chunks but the last, and a pair of
    // actions for each rank behind.
    const size_t warmUp = std::min<size_t>(
        forward.size(), size_t(v - 1) * beginOf(1) + 2 * (p - rank - 1));
    size_t next = 0;
    for (; next < warmUp; ++next)
      run(Kind::Forward, forward[next]);
    for (; next < forward.size(); ++next) {
      run(Kind::Forward, forward[next]);
      run(Kind::Backward, backward[next - warmUp]);
    }
    for (size_t i = forward.size() - warmUp; i < backward.size(); ++i)
      run(Kind::Backward, backward[i]);
  }
  return schedule;
}
