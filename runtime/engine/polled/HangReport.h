//===- HangReport.h - who waits on whom -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For an execution that has made no progress for long. Each process says what
// its ranks do; a report is written of all that is known. Assumes that messages
// and groups have been matched, so that whom a rank waits for is known.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_POLLED_HANGREPORT_H
#define PPRT_ENGINE_POLLED_HANGREPORT_H

#include "Rank.h"
#include "pprt/Ranks.h"

namespace pprt::polled {

/// Where a rank has come.
struct RankState {
  struct Queue {
    uint32_t done = 0;       ///< instructions of the section
    bool hasStarted = false; ///< the next one
    /// If that meets others: which ranks, by which instructions.
    std::vector<uint32_t> members, indices;
  };
  uint32_t index = 0;
  int section = -1; ///< -1: it has finished
  std::vector<Queue> queues;
};

/// Reads the ranks' counters while they may still move.
std::vector<RankState>
statesOf(const std::vector<std::unique_ptr<Rank>> &ranks);

/// For another process.
std::vector<std::byte> packStates(const std::vector<RankState> &states);
/// Adds those to `states`.
void unpackStates(const std::vector<std::byte> &bytes,
                  std::vector<RankState> &states);

/// What ranks wait for, with one line for those that wait for the same, and the
/// cycle of waiting ranks. What has not started since other queues of its rank
/// wait is left out. `states` are in the order of ranks, some of which may be
/// missing.
std::string hangReport(const Ranks &programs,
                       const std::vector<RankState> &states, int64_t step,
                       double seconds);

} // namespace pprt::polled

#endif // PPRT_ENGINE_POLLED_HANGREPORT_H
