//===- Measure.h - what a run measured -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Between the session, which knows instructions, and the report and trace,
// which know columns and names. A session has run a step and is not stuck.
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
/// Communication, stages and what is predicted of times are a predictor's.
void measure(const Session &session, Report &report);

/// The timeline of the last step: every instruction of every rank.
Trace traceLastStep(const Session &session);

/// Any timeline of all ranks, on such devices (SessionOptions::device).
Trace makeTrace(const Players &players, const ppx::ArtifactT &artifact,
                const Timeline &timeline, const std::string &device = "cpu");

/// Keeps when the instructions of the last steps ran.
class LastSteps {
public:
  /// At least one.
  explicit LastSteps(uint64_t most) : most(most) {}

  /// Takes the step that the session has made last, the `step`-th; of other
  /// processes' ranks what was collected since.
  void add(const Session &session, uint64_t step);
  /// Of all of them, one after another, with a row that names them.
  Trace trace(const Session &session) const;
  /// The largest Session::clockError() of them.
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
