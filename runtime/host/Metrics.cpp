//===- Metrics.cpp - Results of every step, as it happens -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Metrics.h"
#include "pprt/Files.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace pprt;
using namespace pprt::host;

StepSink::~StepSink() = default;

Expected<std::unique_ptr<MetricsFile>>
MetricsFile::create(const std::string &path) {
  const Expected<int> descriptor = openToWrite(path, O_CREAT);
  if (!descriptor)
    return descriptor.status();
  std::unique_ptr<MetricsFile> file(new MetricsFile(path, *descriptor));
  struct stat info;
  const bool isFile = ::fstat(*descriptor, &info) == 0 && S_ISREG(info.st_mode);
  // The system releases it when the process ends, however it ends.
  if (isFile && ::flock(*descriptor, LOCK_EX | LOCK_NB) != 0 &&
      errno == EWOULDBLOCK)
    return Status(ExitCode::usage,
                  path + ": expects a file that no other run writes to, got "
                         "one that a running pp-run holds; give each run a "
                         "--metrics file of its own");
  if (isFile && ::ftruncate(*descriptor, 0) != 0)
    return systemFailure(path, "write");
  return file;
}

MetricsFile::~MetricsFile() { close(descriptor); }

Status MetricsFile::add(const StepReport &step) {
  const std::string line = printStep(step) + "\n";
  return writeAll(descriptor, line.data(), line.size())
             ? Status()
             : systemFailure(path, "write");
}
