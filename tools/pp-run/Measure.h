//===- Measure.h - what was predicted and what was measured -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Between the session and predictions, which know instructions, and the report
// and trace, which know columns and names. A session has run a step and is not
// stuck.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_MEASURE_H
#define PP_RUN_MEASURE_H

#include "Report.h"
#include "Trace.h"
#include "pp/Predict/Prediction.h"
#include "pprt/Session.h"

namespace pp::run {

/// Fills the parts of `report` that are known before a run.
void reportPrediction(const pprt::ppx::ArtifactT &artifact,
                      const pprt::Mesh &mesh,
                      const predict::Prediction &prediction, Report &report);

/// Then those that the session knows: memory and times.
void measure(const pprt::Session &session, Report &report);

/// The timeline of the last step: every instruction of every rank.
Trace traceLastStep(const pprt::Session &session);

/// Any timeline of all ranks.
Trace makeTrace(const predict::Players &players,
                const pprt::ppx::ArtifactT &artifact,
                const predict::Timeline &timeline);

} // namespace pp::run

#endif // PP_RUN_MEASURE_H
