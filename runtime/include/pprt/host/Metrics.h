//===- Metrics.h - What every step told, as it happens ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A line of JSON for each step, on the disk or in the pipe when the step is
// over: whoever follows the file sees it, and a run that is killed leaves it.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_METRICS_H
#define PPRT_HOST_METRICS_H

#include "pprt/host/Report.h"

#include <string>

#pragma GCC visibility push(default)
namespace pprt::host {

class MetricsFile {
public:
  /// Empties or creates `path`. Fails (io) if it cannot be written.
  static Expected<MetricsFile> create(const std::string &path);

  MetricsFile(MetricsFile &&other) noexcept;
  MetricsFile &operator=(MetricsFile &&) = delete;
  ~MetricsFile();

  /// `{"step": 0, "loss": 5.5, "metrics": {"accuracy": 0.25}, "ms": 12.3}`
  Status add(const StepReport &step);

private:
  MetricsFile(std::string path, int descriptor)
      : path(std::move(path)), descriptor(descriptor) {}

  std::string path;
  int descriptor = -1;
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_METRICS_H
