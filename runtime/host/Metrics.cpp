//===- Metrics.cpp - Results of every step, as it happens -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Metrics.h"
#include "pprt/Files.h"

#include <fcntl.h>
#include <unistd.h>

using namespace pprt;
using namespace pprt::host;

StepSink::~StepSink() = default;

Expected<std::unique_ptr<MetricsFile>>
MetricsFile::create(const std::string &path) {
  const Expected<int> descriptor = openToWrite(path, O_CREAT | O_TRUNC);
  if (!descriptor)
    return descriptor.status();
  return std::unique_ptr<MetricsFile>(new MetricsFile(path, *descriptor));
}

MetricsFile::~MetricsFile() { close(descriptor); }

Status MetricsFile::add(const StepReport &step) {
  const std::string line = printStep(step) + "\n";
  return writeAll(descriptor, line.data(), line.size())
             ? Status()
             : systemFailure(path, "write");
}
