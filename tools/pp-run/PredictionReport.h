//===- PredictionReport.h - a prediction in the report ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What a prediction fills into the report of a run, or of none.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TOOLS_PREDICTIONREPORT_H
#define PP_TOOLS_PREDICTIONREPORT_H

#include "pp/Predict/Prediction.h"
#include "pprt/host/Report.h"

namespace pp::predict {

/// Fills the parts of `report` that are known before a run.
void reportPrediction(const pprt::ppx::ArtifactT &artifact,
                      const pprt::Mesh &mesh, const Prediction &prediction,
                      pprt::host::Report &report);

} // namespace pp::predict

#endif // PP_TOOLS_PREDICTIONREPORT_H
