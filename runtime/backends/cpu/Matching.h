//===- Matching.h - which instructions of different ranks meet --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: ranks with their tasks. Out: one rendezvous for each transfer and each
// collective, and the tasks that meet in it pointing to it. In every section
// the k-th send of an edge meets the k-th receive, and the k-th collective of
// a group instance is the same for all members.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_MATCHING_H
#define PPRT_BACKENDS_CPU_MATCHING_H

#include "Rank.h"

namespace pprt::cpu {

/// Who takes part in a rendezvous, in member order; for the hang report.
struct Meeting {
  std::unique_ptr<inprocess::Rendezvous> rendezvous;
  std::vector<std::pair<Rank *, const Task *>> members;
};

/// Fails (checkFailed) on what cannot be matched, which the checks rule out.
Expected<std::vector<Meeting>>
matchRanks(const ppx::ArtifactT &artifact, const Mesh &mesh,
           std::vector<std::unique_ptr<Rank>> &ranks);

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_MATCHING_H
