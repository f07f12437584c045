//===- Metrics.h - Results of every step, as it happens ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One line of JSON per step, on the disk or in the pipe when the step is over:
// readers of the file see it, and it survives if the run is killed.
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
  /// Adds lines that were made before.
  Status addLines(const std::string &lines);

private:
  MetricsFile(std::string path, int descriptor)
      : path(std::move(path)), descriptor(descriptor) {}

  std::string path;
  int descriptor = -1;
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_METRICS_H
