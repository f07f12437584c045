//===- HangReport.h - ranks that wait for each other ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reports on an execution that has made no progress for long. Each process
// describes its ranks, and one writes a report. Assumes that messages and
// groups have been matched, so that the ranks that a rank waits for are known.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_POLLED_HANGREPORT_H
#define PPRT_ENGINE_POLLED_HANGREPORT_H

#include "Rank.h"
#include "pprt/Ranks.h"

namespace pprt::polled {

/// Progress of a rank.
struct RankState {
  struct Queue {
    uint32_t done = 0;       ///< instructions of the section
    bool hasStarted = false; ///< whether the next one has started
    /// If the next one communicates: the member ranks, and their instructions.
    std::vector<uint32_t> members, indices;
  };
  uint32_t index = 0;
  int section = -1; ///< -1: it has finished
  std::vector<Queue> queues;
};

/// Reads the ranks' counters, which may still change.
std::vector<RankState>
statesOf(const std::vector<std::unique_ptr<Rank>> &ranks);

/// Packs states for another process.
std::vector<std::byte> packStates(const std::vector<RankState> &states);
/// Adds the packed states to `states`.
void unpackStates(const std::vector<std::byte> &bytes,
                  std::vector<RankState> &states);

/// Reports what ranks wait for, with one line for those that wait for the same,
/// and the cycle of waiting ranks. Omits instructions that have not started
/// because other queues of their rank wait. `states` are in the order of ranks,
/// some of which may be missing.
std::string hangReport(const Ranks &programs,
                       const std::vector<RankState> &states, int64_t step,
                       double seconds);

} // namespace pprt::polled

#endif // PPRT_ENGINE_POLLED_HANGREPORT_H
