//===- DrawStep.h - a picture of a step -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact that passed the checks, with its prediction, and perhaps a
// step that was measured. Out: an SVG document. Rows are the ranks that do the
// same, or, with a measured step, every rank: as predicted and as measured.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PREDICT_DRAWSTEP_H
#define PP_PREDICT_DRAWSTEP_H

#include "pp/Predict/Prediction.h"

namespace pp::predict {

/// `drawsTransfers`: with a line for each, as predicted and as measured.
std::string drawStep(const Prediction &prediction,
                     const pprt::ppx::ArtifactT &artifact,
                     const pprt::Mesh &mesh,
                     const pprt::MeasuredStep *measured = nullptr,
                     bool drawsTransfers = false);

} // namespace pp::predict

#endif // PP_PREDICT_DRAWSTEP_H
