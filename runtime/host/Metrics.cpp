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

Expected<MetricsFile> MetricsFile::create(const std::string &path) {
  const Expected<int> descriptor = openToWrite(path, O_CREAT | O_TRUNC);
  if (!descriptor)
    return descriptor.status();
  return MetricsFile(path, *descriptor);
}

MetricsFile::MetricsFile(MetricsFile &&other) noexcept
    : path(std::move(other.path)), descriptor(other.descriptor) {
  other.descriptor = -1;
}

MetricsFile::~MetricsFile() {
  if (descriptor >= 0)
    close(descriptor);
}

Status MetricsFile::add(const StepReport &step) {
  return addLines(printStep(step) + "\n");
}

Status MetricsFile::addLines(const std::string &lines) {
  return writeAll(descriptor, lines.data(), lines.size())
             ? Status()
             : systemFailure(path, "write");
}
