//===- CheckpointWatch.h - a folder of checkpoints, from outside *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the folder of --checkpoint, to which a job of other processes writes,
// maybe on other hosts. Out: what it has saved, and whether it still runs.
// Assumed: one job at a time has the folder. Nothing in it is changed.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_CHECKPOINTWATCH_H
#define PP_RUN_CHECKPOINTWATCH_H

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace pp::run {

class CheckpointWatch {
public:
  explicit CheckpointWatch(std::string folder) : folder(std::move(folder)) {}

  /// Begins to watch another start of the job.
  void begin();
  /// Whether the job of this start has ended: it has had the folder, and has
  /// not had it for this time. False if it never had it.
  bool hasEndedFor(std::chrono::seconds time);
  /// Whether a process has the folder, of which it is known that none takes it
  /// now.
  bool isTaken() const;
  /// Looks what there is. Returns whether a checkpoint is newer than all that
  /// there were at the last look.
  bool findNewer();
  /// The step of the newest one at the last look.
  std::optional<uint64_t> step() const { return newestStep; }

private:
  using Time = std::filesystem::file_time_type;

  std::string folder;
  std::optional<uint64_t> newestStep;
  Time newest = Time::min();
  Time taken = Time::min(); ///< last, before this start
  bool wasTaken = false;    ///< in this start
  std::optional<std::chrono::steady_clock::time_point> leftAt;
};

} // namespace pp::run

#endif // PP_RUN_CHECKPOINTWATCH_H
