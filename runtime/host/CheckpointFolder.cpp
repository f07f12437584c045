//===- CheckpointFolder.cpp - a folder of checkpoints ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Names are on disk before what refers to them: a step's files before its
// index, its index before older checkpoints go. Of a checkpoint that goes, the
// index goes first. What is not ours stays: links, and folders with other
// files.
//
//===----------------------------------------------------------------------===//
#include "CheckpointFiles.h"
#include "Digest.h"
#include "pprt/host/Checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

using namespace pprt;
using namespace pprt::host;

namespace fs = std::filesystem;

static constexpr std::string_view kPrefix = "step-", kProbe = ".run-",
                                  kRank = "rank-", kRankEnd = ".safetensors";

std::string pprt::host::rankFile(uint32_t rank) {
  return std::string(kRank) + std::to_string(rank) + std::string(kRankEnd);
}

std::string pprt::host::stepFolder(const std::string &folder, uint64_t step) {
  return folder + "/" + std::string(kPrefix) + std::to_string(step);
}

std::string pprt::host::indexFile(const std::string &folder, uint64_t step) {
  return stepFolder(folder, step) + "/" + kIndexFile;
}

bool pprt::host::isCheckpoint(const std::string &folder) {
  std::error_code error;
  return fs::exists(folder + "/" + kIndexFile, error);
}

std::string pprt::host::lockFile(const std::string &folder) {
  return folder + "/.lock";
}

/// A lock of a whole file, which its open description has.
static struct flock wholeFile() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

Expected<bool> pprt::host::isLocked(const std::string &folder) {
  const std::string name = lockFile(folder);
  const int descriptor = ::open(name.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0)
    return errno == ENOENT ? Expected<bool>(false)
                           : systemFailure(name, "open");
  struct flock lock = wholeFile();
  const Status status = ::fcntl(descriptor, F_OFD_GETLK, &lock) == 0
                            ? Status()
                            : systemFailure(name, "examine");
  ::close(descriptor);
  return status.ok() ? Expected<bool>(lock.l_type != F_UNLCK) : status;
}

/// Whether there is such a file. Fails (io) if the system does not say: what it
/// hides for a moment must not be taken for nothing, and go.
static Expected<bool> hasFile(const std::string &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0)
    return bool(S_ISREG(info.st_mode));
  return errno == ENOENT || errno == ENOTDIR ? Expected<bool>(false)
                                             : systemFailure(path, "examine");
}

/// Calls visit(entry) for all entries of a folder; of none, if it is not there.
template <typename Visitor>
static Status forEachEntry(const std::string &folder, Visitor &&visit) {
  std::error_code error;
  fs::directory_iterator entry(folder, error), end;
  if (error == std::errc::no_such_file_or_directory)
    return {};
  for (; !error && entry != end; entry.increment(error))
    visit(*entry);
  return error ? Status(ExitCode::io,
                        folder + ": cannot list: " + error.message())
               : Status();
}

/// The number in `name` between two texts.
static std::optional<uint64_t> numberIn(const std::string &name,
                                        std::string_view before,
                                        std::string_view behind) {
  if (name.size() <= before.size() + behind.size() ||
      name.compare(0, before.size(), before) != 0)
    return std::nullopt;
  uint64_t number = 0;
  const char *const begin = name.data() + before.size(), *const end =
                                                             name.data() +
                                                             name.size() -
                                                             behind.size();
  const auto [rest, failure] = std::from_chars(begin, end, number);
  // Other spellings are someone else's.
  const bool isOurs = failure == std::errc() && rest == end &&
                      name == std::string(before) + std::to_string(number) +
                                  std::string(behind);
  return isOurs ? std::optional(number) : std::nullopt;
}

/// Whether a save writes a file of this name, maybe under a temporary one.
static bool isOurs(const std::string &file) {
  const std::string name = file.substr(0, file.find(".tmp."));
  return name == kIndexFile || name == kMetricsFile ||
         numberIn(name, kRank, kRankEnd);
}

/// Returns the steps of all folders `step-N`, but not of links.
static Expected<std::vector<uint64_t>> allSteps(const std::string &folder) {
  std::vector<uint64_t> steps;
  const Status status = forEachEntry(folder, [&](const auto &entry) {
    std::error_code error;
    if (const std::optional<uint64_t> step =
            numberIn(entry.path().filename().string(), kPrefix, "");
        step && fs::is_directory(entry.symlink_status(error)))
      steps.push_back(*step);
  });
  if (!status.ok())
    return status;
  std::sort(steps.begin(), steps.end());
  return steps;
}

Expected<std::vector<uint64_t>> pprt::host::stepsOf(const std::string &folder) {
  const Expected<std::vector<uint64_t>> all = allSteps(folder);
  std::vector<uint64_t> whole;
  for (uint64_t step : all ? *all : std::vector<uint64_t>()) {
    const Expected<bool> has = hasFile(indexFile(folder, step));
    if (!has)
      return has.status();
    if (*has)
      whole.push_back(step);
  }
  return all ? Expected<std::vector<uint64_t>>(whole) : all.status();
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
  const std::string name = lockFile(path);
  const int descriptor =
      ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return systemFailure(name, "create");
  CheckpointFolder folder(path, descriptor);
  const std::string parent = fs::absolute(path, error).parent_path().string();
  if (Status status = syncFolder(parent); !status.ok())
    return status;
  // The system releases it when the process ends, however it ends.
  struct flock lock = wholeFile();
  if (::fcntl(descriptor, F_OFD_SETLK, &lock) == 0)
    return Expected<CheckpointFolder>(std::move(folder));
  if (errno == EAGAIN || errno == EACCES)
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

/// Returns the names in a step's folder.
static Expected<std::vector<std::string>> listFiles(const std::string &path) {
  std::vector<std::string> files;
  const Status status = forEachEntry(path, [&](const auto &entry) {
    files.push_back(entry.path().filename().string());
  });
  return status.ok() ? Expected<std::vector<std::string>>(files) : status;
}

Status CheckpointFolder::remove(uint64_t step) const {
  const std::string path = stepFolder(name, step);
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(path, error)))
    return Status(ExitCode::io, path + ": expects a folder, got a link; move "
                                       "it away");
  Expected<std::vector<std::string>> listed = listFiles(path);
  std::vector<std::string> files =
      listed ? std::move(*listed) : std::vector<std::string>();
  Status status = listed.status();
  if (status.ok() && !std::all_of(files.begin(), files.end(), isOurs))
    status = Status(ExitCode::io,
                    path + ": expects nothing but files of a checkpoint, got "
                           "others; move them away");
  // Without its index it is no checkpoint.
  std::stable_partition(
      files.begin(), files.end(),
      [](const std::string &file) { return file == kIndexFile; });
  for (const std::string &file : files) {
    if (status.ok() && ::unlink((path + "/" + file).c_str()) != 0)
      status = systemFailure(path + "/" + file, "remove");
    if (status.ok() && file == kIndexFile)
      status = syncFolder(path);
  }
  if (status.ok() && ::rmdir(path.c_str()) != 0 && errno != ENOENT)
    status = systemFailure(path, "remove");
  return status;
}

std::string pprt::host::probeFile(const std::string &folder,
                                  const std::string &run) {
  return folder + "/" + std::string(kProbe) + run;
}

Status CheckpointFolder::clean(uint64_t newest, uint64_t keep) const {
  const Expected<std::vector<uint64_t>> all = allSteps(name),
                                        whole = stepsOf(name);
  if (!all || !whole)
    return all ? whole.status() : all.status();
  uint64_t kept = 0;
  Status first;
  const auto note = [&](const Status &status) {
    first = first.ok() ? status : first;
  };
  for (auto step = all->rbegin(); step != all->rend(); ++step) {
    const bool isWhole =
        std::binary_search(whole->begin(), whole->end(), *step);
    if (isWhole && *step <= newest && kept++ < keep)
      continue;
    const auto files = listFiles(stepFolder(name, *step));
    if (files && !std::all_of(files->begin(), files->end(), isOurs))
      continue;          // someone else's
    note(remove(*step)); // what cannot go does not keep the others
  }
  std::vector<fs::path> probes;
  note(forEachEntry(name, [&](const auto &entry) {
    if (entry.path().filename().string().compare(0, kProbe.size(), kProbe) == 0)
      probes.push_back(entry.path());
  }));
  std::error_code ignored;
  for (const fs::path &probe : probes)
    fs::remove(probe, ignored);
  return first;
}

Status CheckpointFolder::setAside(uint64_t step) const {
  std::error_code error;
  std::string aside = name + "/aside-" + std::to_string(step);
  while (fs::exists(fs::symlink_status(aside, error)))
    aside += "-";
  return ::rename(stepFolder(name, step).c_str(), aside.c_str()) == 0
             ? Status()
             : systemFailure(aside, "rename");
}

Status CheckpointFolder::prepare(uint64_t step) const {
  const std::string path = stepFolder(name, step);
  if (Status status = remove(step); !status.ok())
    return status;
  return ::mkdir(path.c_str(), 0777) == 0 ? Status()
                                          : systemFailure(path, "create");
}

Status CheckpointFolder::commit(CheckpointIndex index,
                                const std::string &metrics) const {
  index.metricsDigest = digestOf(metrics.data(), metrics.size());
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
