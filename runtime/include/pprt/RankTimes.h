//===- RankTimes.h - how ranks spend a step ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a timeline, predicted or measured. Out: the seconds in which each rank
// computes, idles and waits for messages. docs/Schedules.md defines the bubble.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_RANKTIMES_H
#define PPRT_RANKTIMES_H

#include "pprt/Replay.h"

#include <string>

#pragma GCC visibility push(default)
namespace pprt {

/// Seconds of a step.
struct RankTimes {
  /// Kernels run, or none does; from the first begin of any rank to the last
  /// end.
  double busy = 0, idle = 0;
  /// Messages travel: from the moment all members are there to the end. They
  /// are hidden while the rank computes, else exposed.
  double exposed = 0, hidden = 0;

  /// Idle over busy time; nothing if no kernel takes time.
  std::optional<double> bubble() const;
};

/// A part of a step's critical path.
struct PathPart {
  /// Of kernels; nothing for messages and the host.
  std::optional<uint32_t> stage;
  /// `F`, `B`, `W`, `U`, `P`, `transfers`, `collectives` or `host`.
  std::string kind;
  double seconds = 0;
};

/// Returns the times of each player.
std::vector<RankTimes> timesOfPlayers(const Players &players,
                                      const Timeline &timeline);

/// Returns the mean over all ranks, those that compute nothing among them: its
/// bubble is all idle time over all busy time.
RankTimes meanTimes(const Players &players,
                    const std::vector<RankTimes> &times);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_RANKTIMES_H
