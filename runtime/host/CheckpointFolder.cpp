//===- CheckpointFolder.cpp - a folder of checkpoints ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Names are on disk before what refers to them: a step's folder before its
// files, its files before its index, its index before older checkpoints go. Of
// a checkpoint that goes, the index goes first.
//
//===----------------------------------------------------------------------===//
#include "CheckpointFiles.h"
#include "pprt/host/Checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>

using namespace pprt;
using namespace pprt::host;

namespace fs = std::filesystem;

static constexpr std::string_view kPrefix = "step-", kProbe = ".run-";

std::string pprt::host::rankFile(uint32_t rank) {
  return "rank-" + std::to_string(rank) + ".safetensors";
}

std::string pprt::host::stepFolder(const std::string &folder, uint64_t step) {
  return folder + "/" + std::string(kPrefix) + std::to_string(step);
}

/// Returns the steps of all folders `step-N`.
static std::vector<uint64_t> allSteps(const std::string &folder) {
  std::vector<uint64_t> steps;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    uint64_t step = 0;
    if (name.compare(0, kPrefix.size(), kPrefix) != 0)
      continue;
    const char *const last = name.data() + name.size();
    const auto [rest, failure] =
        std::from_chars(name.data() + kPrefix.size(), last, step);
    // Other spellings are someone else's.
    if (failure == std::errc() && rest == last &&
        name == kPrefix.data() + std::to_string(step))
      steps.push_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

static bool isWhole(const std::string &folder, uint64_t step) {
  std::error_code error;
  return fs::is_regular_file(stepFolder(folder, step) + "/" + kIndexFile,
                             error);
}

std::vector<uint64_t> pprt::host::stepsOf(const std::string &folder) {
  std::vector<uint64_t> steps = allSteps(folder);
  steps.erase(
      std::remove_if(steps.begin(), steps.end(),
                     [&](uint64_t step) { return !isWhole(folder, step); }),
      steps.end());
  return steps;
}

/// Writes the names of a folder to disk.
static Status syncFolder(const std::string &path) {
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return systemFailure(path, "open");
  // Some file systems have nothing to sync.
  const bool isDone = ::fsync(descriptor) == 0 || errno == EINVAL;
  const Status status = isDone ? Status() : systemFailure(path, "write");
  ::close(descriptor);
  return status;
}

Expected<CheckpointFolder> CheckpointFolder::lock(const std::string &path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    return Status(ExitCode::io, path + ": cannot create: " + error.message());
  const std::string name = path + "/.lock";
  const int descriptor =
      ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return systemFailure(name, "create");
  CheckpointFolder folder(path, descriptor);
  // The system releases it when the process ends, however it ends.
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    return Expected<CheckpointFolder>(std::move(folder));
  if (errno == EWOULDBLOCK)
    return Status(ExitCode::usage,
                  path + ": expects a folder that no other run writes to, got "
                         "one that a running pp-run holds; give each run a "
                         "--checkpoint folder of its own");
  return systemFailure(name, "lock");
}

CheckpointFolder::CheckpointFolder(CheckpointFolder &&other) noexcept
    : name(std::move(other.name)), descriptor(other.descriptor) {
  other.descriptor = -1;
}

CheckpointFolder::~CheckpointFolder() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Status CheckpointFolder::remove(uint64_t step) const {
  const std::string path = stepFolder(name, step);
  std::error_code error;
  if (fs::remove(path + "/" + kIndexFile, error) && !error)
    if (Status status = syncFolder(path); !status.ok())
      return status;
  if (!error)
    fs::remove_all(path, error);
  return error ? Status(ExitCode::io,
                        path + ": cannot remove: " + error.message())
               : Status();
}

std::string pprt::host::probeFile(const std::string &folder,
                                  const std::string &run) {
  return folder + "/" + std::string(kProbe) + run;
}

Status CheckpointFolder::clean(uint64_t keep) const {
  const std::vector<uint64_t> whole = stepsOf(name);
  const uint64_t oldest = whole.size() > keep ? whole[whole.size() - keep] : 0;
  for (uint64_t step : allSteps(name))
    if (step < oldest || !isWhole(name, step))
      if (Status status = remove(step); !status.ok())
        return status;
  std::error_code error;
  for (fs::directory_iterator entry(name, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename().string().compare(0, kProbe.size(), kProbe) ==
        0)
      fs::remove(entry->path(), error);
  return error
             ? Status(ExitCode::io, name + ": cannot clean: " + error.message())
             : Status();
}

Status CheckpointFolder::prepare(uint64_t step) const {
  if (Status status = remove(step); !status.ok())
    return status;
  const std::string path = stepFolder(name, step);
  std::error_code error;
  fs::create_directory(path, error);
  if (error)
    return Status(ExitCode::io, path + ": cannot create: " + error.message());
  return {};
}

Status CheckpointFolder::commit(const CheckpointIndex &index,
                                const std::string &metrics) const {
  const std::string path = stepFolder(name, index.step),
                    text = printIndex(index);
  Status status =
      writeFile(path + "/" + kMetricsFile, metrics.data(), metrics.size());
  for (const std::string &each : {name, path})
    if (status.ok())
      status = syncFolder(each);
  if (status.ok())
    status = writeFile(path + "/" + kIndexFile, text.data(), text.size());
  return status.ok() ? syncFolder(path) : status;
}
