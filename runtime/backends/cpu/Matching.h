//===- Matching.h - which instructions of different ranks meet --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: ranks with their tasks. Out: one rendezvous for each transfer and each
// collective, and the tasks that meet in it pointing to it.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_MATCHING_H
#define PPRT_BACKENDS_CPU_MATCHING_H

#include "Rank.h"
#include "pprt/Meetings.h"

namespace pprt::cpu {

/// Who takes part in a rendezvous, in member order; for the hang report.
struct Meeting {
  std::unique_ptr<inprocess::Rendezvous> rendezvous;
  std::vector<std::pair<Rank *, const Task *>> members;
};

/// Fails (checkFailed) on what cannot be matched, which the checks rule out.
Expected<std::vector<Meeting>>
matchRanks(const Ranks &programs, std::vector<std::unique_ptr<Rank>> &ranks);

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_MATCHING_H
