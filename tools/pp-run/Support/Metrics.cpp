//===- Metrics.cpp - What every step told, as it happens ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Metrics.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace pp::run;
using pprt::ExitCode;
using pprt::Expected;
using pprt::Status;

static Status failure(const std::string &path, const char *what) {
  return Status(ExitCode::io,
                path + ": cannot " + what + ": " + std::strerror(errno));
}

Expected<MetricsFile> MetricsFile::create(const std::string &path) {
  const int descriptor =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return failure(path, "open");
  return MetricsFile(path, descriptor);
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
  const std::string line = printStep(step) + "\n";
  for (size_t written = 0; written < line.size();) {
    const ssize_t count =
        write(descriptor, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failure(path, "write");
    written += size_t(count);
  }
  return {};
}
