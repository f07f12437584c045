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

#include "pprt/host/StepSink.h"

#include <memory>
#include <string>

#pragma GCC visibility push(default)
namespace pprt::host {

class MetricsFile final : public StepSink {
public:
  /// Empties or creates `path`. Fails (io) if it cannot be written.
  static Expected<std::unique_ptr<MetricsFile>> create(const std::string &path);
  ~MetricsFile() override;

  /// `{"step": 0, "loss": 5.5, "metrics": {"accuracy": 0.25}, "ms": 12.3}`
  Status add(const StepReport &step) override;
  Status finish() override { return {}; }
  std::string file() const override { return path; }

private:
  MetricsFile(std::string path, int descriptor)
      : path(std::move(path)), descriptor(descriptor) {}

  std::string path;
  int descriptor;
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_METRICS_H
