//===- CheckpointWatch.cpp - a folder of checkpoints, from outside --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "CheckpointWatch.h"
#include "pprt/host/Checkpoint.h"

#include <utility>

using namespace pp::run;

namespace fs = std::filesystem;

/// The earliest time of all, if there is no such file.
static fs::file_time_type timeOf(const std::string &file) {
  std::error_code error;
  const fs::file_time_type time = fs::last_write_time(file, error);
  return error ? fs::file_time_type::min() : time;
}

void CheckpointWatch::begin() {
  taken = timeOf(pprt::host::lockFile(folder));
  wasTaken = false;
  leftAt.reset();
}

bool CheckpointWatch::isTaken() const { return pprt::host::isLocked(folder); }

bool CheckpointWatch::hasEndedFor(std::chrono::seconds time) {
  // Not before the job has the folder: to look would keep it from taking it.
  if (timeOf(pprt::host::lockFile(folder)) == taken)
    return false;
  // Some file systems do not show a lock of another host. Then it never was.
  const bool isHeld = isTaken();
  wasTaken |= isHeld;
  const auto now = std::chrono::steady_clock::now();
  if (isHeld || !wasTaken)
    leftAt.reset();
  else if (!leftAt)
    leftAt = now;
  return leftAt && now - *leftAt >= time;
}

bool CheckpointWatch::findNewer() {
  const auto steps = pprt::host::stepsOf(folder);
  newestStep =
      steps && !steps->empty() ? std::optional(steps->back()) : std::nullopt;
  // By time: a job may go on from an earlier step than that of the newest.
  const fs::file_time_type before = std::exchange(
      newest, newestStep ? timeOf(pprt::host::indexFile(folder, *newestStep))
                         : fs::file_time_type::min());
  return newest > before;
}
