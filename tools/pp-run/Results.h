//===- Results.h - what a run leaves behind ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Files that are written when training has ended: parameters and measurements.
// Those that grow meanwhile (Sinks.h) end here too.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_RESULTS_H
#define PP_RUN_RESULTS_H

#include "Sinks.h"
#include "pp/Predict/Prediction.h"
#include "pprt/World.h"
#include "pprt/host/Measure.h"
#include "pprt/host/Report.h"

namespace pp::run {

/// Fails before hours of training if results cannot be returned or written.
pprt::Status checkResults(const Options &options,
                          const pprt::ppx::ArtifactT &artifact);

/// Writes every output that can be written, even if others fail, in process 0,
/// to which the others send their data, and which has the prediction. Adds the
/// names of those that are whole to `written`.
pprt::Status writeResults(const Options &options, const pprt::Session &session,
                          const pprt::World &world,
                          const pprt::host::Report &report,
                          const pprt::host::LastSteps *lastSteps,
                          const pp::predict::Prediction &prediction,
                          Sinks &sinks, std::vector<std::string> &written);

/// `wrote gpt.safetensors (1.2 MiB), run.jsonl`, or nothing.
std::string printWritten(const std::vector<std::string> &written);

} // namespace pp::run

#endif // PP_RUN_RESULTS_H
