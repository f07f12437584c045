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

#include "pprt/Status.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace pp::run {

class CheckpointWatch {
public:
  explicit CheckpointWatch(std::string folder) : folder(std::move(folder)) {}

  /// Begins to watch another start of the job.
  void begin();
  /// Whether the job of this start has ended: it has had the folder, and has
  /// not had it for this time. False if it never had it.
  bool hasEndedFor(std::chrono::seconds time);
  /// Whether a process has the folder, as far as is known.
  bool mayBeTaken() const;
  /// Looks what there is. Returns whether the newest checkpoint is another than
  /// at the last look. Fails (io), and knows what it knew, if the system does
  /// not say.
  pprt::Expected<bool> findNewer();
  /// The step of the newest one at the last look.
  std::optional<uint64_t> step() const {
    return newest ? std::optional(newest->first) : std::nullopt;
  }

private:
  /// A step, and when it was saved.
  using Saved = std::pair<uint64_t, std::filesystem::file_time_type>;

  std::string folder;
  std::optional<Saved> newest;
  bool wasTaken = false; ///< in this start
  std::optional<std::chrono::steady_clock::time_point> leftAt;
};

} // namespace pp::run

#endif // PP_RUN_CHECKPOINTWATCH_H
