//===- CheckpointWatch.cpp - a folder of checkpoints, from outside --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "CheckpointWatch.h"
#include "pprt/host/Checkpoint.h"

#include <vector>

using namespace pp::run;
using namespace pprt;
using namespace pprt::host;

void CheckpointWatch::begin() {
  wasTaken = false;
  leftAt.reset();
}

bool CheckpointWatch::mayBeTaken() const {
  const Expected<bool> isHeld = isLocked(folder);
  return !isHeld || *isHeld;
}

bool CheckpointWatch::hasEndedFor(std::chrono::seconds time) {
  // Some file systems do not show a lock of another host. Then it never was.
  const Expected<bool> isHeld = isLocked(folder);
  wasTaken |= isHeld && *isHeld;
  const auto now = std::chrono::steady_clock::now();
  if (!isHeld || *isHeld || !wasTaken)
    leftAt.reset();
  else if (!leftAt)
    leftAt = now;
  return leftAt && now - *leftAt >= time;
}

Expected<bool> CheckpointWatch::findNewer() {
  const Expected<std::vector<uint64_t>> steps = stepsOf(folder);
  if (!steps)
    return steps.status();
  std::optional<Saved> found;
  if (!steps->empty()) {
    const std::string index = indexFile(folder, steps->back());
    std::error_code error;
    found = {steps->back(), std::filesystem::last_write_time(index, error)};
    if (error)
      return Status(ExitCode::io,
                    index + ": cannot examine: " + error.message());
  }
  // By time, too: a job may come to the same step again.
  const bool isNewer = found && found != newest;
  newest = found;
  return isNewer;
}
