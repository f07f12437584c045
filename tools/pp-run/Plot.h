//===- Plot.h - the loss of a run as SVG ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_PLOT_H
#define PP_RUN_PLOT_H

#include "pprt/host/Background.h"
#include "pprt/host/Curve.h"
#include "pprt/host/StepSink.h"

#include <chrono>

namespace pp::run {

/// What the picture is of: the model's name, and the keys of its plan.
struct PlotTitle {
  std::string model, keys;
};

/// `loss` is shown raw and smoothed, `eval` as points.
std::string drawLoss(const pprt::host::Curve &loss,
                     const pprt::host::Curve &eval, const PlotTitle &title);

/// Draws a file anew every minute, in the background, and at the end.
class PlotFile final : public pprt::host::StepSink {
public:
  PlotFile(std::string path, PlotTitle title)
      : path(std::move(path)), title(std::move(title)) {}

  /// Reports what failed a minute ago.
  pprt::Status add(const pprt::host::StepReport &step) override;
  pprt::Status finish() override;
  std::string file() const override { return path; }

private:
  const std::string path;
  const PlotTitle title;
  pprt::host::Curve loss, eval;
  std::chrono::steady_clock::time_point drawn =
      std::chrono::steady_clock::now();
  pprt::host::Background writing;
};

} // namespace pp::run

#endif // PP_RUN_PLOT_H
