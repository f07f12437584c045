//===- Limits.cpp - how long a section may stand still --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Limits.h"

using namespace pprt;

/// Seconds without progress after which an interruption ends a section.
static constexpr double kBlocked = 2;

std::optional<Suspicion> Limits::suspect(double idle, bool isRecorded) const {
  const double blocked = isRecorded ? hangSeconds : kBlocked;
  if (blocked > 0 && idle >= blocked && isInterrupted && isInterrupted())
    return Suspicion{ExitCode::interrupted, 0, blocked};
  if (hangSeconds > 0 && idle >= hangSeconds && !isRecorded)
    return Suspicion{ExitCode::hang, 0, hangSeconds};
  return std::nullopt;
}

std::string pprt::describeInterruption(int64_t step) {
  return "interrupted in step " + std::to_string(step + 1) +
         ", which made no progress";
}
