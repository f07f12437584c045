//===- Algorithms.h - Named ways to order a pipeline ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A problem gives the numbers of ranks, stages and micro-batches; an algorithm
// gives the schedule. Each algorithm has one file and one entry in the table of
// Algorithms.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PP_SCHEDULE_ALGORITHMS_H
#define PP_SCHEDULE_ALGORITHMS_H

#include "pp/Schedule/Schedule.h"

namespace pp::schedule {

/// The input of an algorithm. Stage `s` lies on rank `s mod ranks` unless the
/// algorithm says otherwise.
struct ScheduleProblem {
  unsigned ranks = 1;
  unsigned microBatches = 1;
  /// Stages per rank. 0, for generate(): as few as the algorithm takes.
  unsigned chunks = 1;

  unsigned stages() const { return ranks * chunks; }

  /// Whether the sizes are positive and within bounds; if not, sets `error`.
  bool check(std::string &error) const;
};

/// One way to order a pipeline. `generate` may assume a problem that passes
/// `check()` and has a number of chunks that the algorithm can place.
struct Algorithm {
  const char *name;
  const char *summary;
  unsigned minChunks, maxChunks;
  Schedule (*generate)(const ScheduleProblem &problem);
};

/// All algorithms, in the order of their documentation.
const std::vector<Algorithm> &algorithms();
/// Whether there is an algorithm called `name`.
bool isAlgorithm(const std::string &name);
/// Their names, as messages list them: `gpipe or 1f1b`.
const std::string &algorithmNames();

/// The verified schedule of the algorithm called `name`. For an unknown name
/// (the error lists similar ones) or a problem that it cannot solve, returns
/// nothing and sets `error`.
std::optional<Schedule> generate(const std::string &name,
                                 const ScheduleProblem &problem,
                                 std::string &error);

/// All forward passes, then all backward passes (Huang et al., 2019). Holds the
/// residuals of every micro-batch.
Schedule generateGPipe(const ScheduleProblem &problem);

/// One forward, one backward: rank r of p runs p - r - 1 forward passes ahead,
/// then alternates (PipeDream-flush, Narayanan et al., 2021). Takes as long as
/// GPipe, but rank r holds the residuals of at most p - r micro-batches.
Schedule generateOneForwardOneBackward(const ScheduleProblem &problem);

/// Each rank has v stages, r, r + p, ...: micro-batches go round v times, p or
/// more at once (Narayanan et al., 2021, section 2.2). The bubble is (p - 1) /
/// (v m) of the work. Any number of micro-batches; rank r holds the residuals
/// of up to (v - 1) p + 2 (p - r) - 1 pairs of stage and micro-batch, if p
/// divides m.
Schedule generateInterleaved(const ScheduleProblem &problem);

/// Zero bubble, H1 (Qi et al., 2023, section 2.2). With F, B and W of one
/// duration, m >= p micro-batches take 3 m + p - 1 of it, a third of 1F1B's
/// bubble. Rank r holds p - r micro-batches, and what W needs of up to r more.
Schedule generateZeroBubbleH1(const ScheduleProblem &problem);

/// Zero bubble, H2 (the same, section 2.3). With F, B and W of one duration and
/// m >= 2 p - 1, a rank that has begun is never idle. Rank r holds 2 (p - r) -
/// 1 micro-batches, and what W needs of up to 2 r more.
Schedule generateZeroBubbleH2(const ScheduleProblem &problem);

/// Zero bubble, V (Qi et al., 2024, section 4): rank r has stages r and 2 p - 1
/// - r. With F, B and W of one duration and m >= 2 p - 1, a rank that has begun
/// is never idle, and holds at most 2 p pairs of (half a) stage and
/// micro-batch, as much as 1F1B's first rank.
Schedule generateZeroBubbleV(const ScheduleProblem &problem);

} // namespace pp::schedule

#endif // PP_SCHEDULE_ALGORITHMS_H
