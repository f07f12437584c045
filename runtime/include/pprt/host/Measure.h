//===- Measure.h - what a run measured -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Links the session, which knows instructions, and the report and trace, which
// know columns and names. A session must have run a step and not be stuck.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_MEASURE_H
#define PPRT_HOST_MEASURE_H

#include "pprt/Replay.h"
#include "pprt/Session.h"
#include "pprt/host/Report.h"
#include "pprt/host/Trace.h"

#include <deque>

#pragma GCC visibility push(default)
namespace pprt::host {

/// Fills the parts of `report` that the session knows: ranks, memory and times.
/// Communication, stages and predicted times come from a predictor.
void measure(const Session &session, Report &report);

/// Returns the last step; nothing without a whole one whose instructions were
/// timed, and of a program that does not end.
std::optional<MeasuredStep> measuredStep(const Session &session);

/// Memory of this process in the machine's RAM, in bytes; 0: unknown. Takes
/// microseconds.
uint64_t residentBytes();

/// Returns the timeline of the last step: every instruction of every rank, and
/// what `saves` did meanwhile.
Trace traceLastStep(const Session &session,
                    const std::vector<CheckpointReport> &saves = {});

/// The same of any timeline of all ranks; `device`: SessionOptions::device.
Trace makeTrace(const Players &players, const ppx::ArtifactT &artifact,
                const Timeline &timeline, const std::string &device = "cpu");

/// Keeps the instruction times of the last steps.
class LastSteps {
public:
  /// `most` is at least 1.
  explicit LastSteps(uint64_t most) : most(most) {}

  /// Adds the session's last step, the `step`-th; for ranks of other processes,
  /// the times that were collected since.
  void add(const Session &session, uint64_t step);
  /// Makes a trace of all of them, one after another, with a row of their
  /// names, and one of what `saves` did meanwhile.
  Trace trace(const Session &session,
              const std::vector<CheckpointReport> &saves) const;
  /// Returns the largest Session::clockError() of these steps.
  double clockError() const;

private:
  struct Step {
    uint64_t number;
    std::vector<std::vector<InstructionTime>> times; ///< by rank
    double clockError;
  };

  const uint64_t most;
  std::deque<Step> steps;
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_MEASURE_H
