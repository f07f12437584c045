//===- CommOpsHere.h - the comm ops of a process --------------------*- C++ -*//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: programs, and the ranks that a process has. Out: each comm op with one of
// these among its members, with the data that all members share, in an order
// that is the same in all processes.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_COMMOPSHERE_H
#define PPRT_ENGINE_COMMOPSHERE_H

#include "pprt/Transport.h"

#include <functional>

namespace pprt {

struct CommOpHere {
  const CommOps &all;
  const CommPlace &place;
  uint32_t number; ///< index in the section, at the place
  Section section;
  const std::vector<uint32_t> &ranks; ///< of its members

  /// Index of the member's instruction in the section's list.
  uint32_t index(uint32_t member) const {
    return all.sequence(place, member, ranks[member])[number];
  }
  std::vector<Move> moves() const { return all.moves(place, number); }
  bool isWithin(RankRange range) const;
  /// Without the parts that differ between members.
  Participant participant() const;
};

/// Calls `f` until it fails. Fails (checkFailed) on instructions that do not
/// match, which the checks rule out.
Status forEachCommOp(const Ranks &programs, RankRange range, Section section,
                     const std::function<Status(const CommOpHere &)> &f);

} // namespace pprt

#endif // PPRT_ENGINE_COMMOPSHERE_H
