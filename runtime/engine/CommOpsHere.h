//===- CommOpsHere.h - the comm ops of a process --------------------*- C++ -*//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: programs, and the ranks of them that a process has. Out: each comm op
// that one of these takes part in, with what all its members have alike, in an
// order that is the same in all processes.
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
  uint32_t number; ///< of the section, at the place
  Section section;
  const std::vector<uint32_t> &ranks; ///< of its members

  /// Of the member's instruction, in the section's list.
  uint32_t index(uint32_t member) const {
    return all.sequence(place, member, ranks[member])[number];
  }
  std::vector<Move> moves() const { return all.moves(place, number); }
  bool isWithin(RankRange range) const;
  /// Lacks what each member has for itself.
  Participant participant() const;
};

/// Until one fails. Fails (checkFailed) on what cannot be matched, which the
/// checks rule out.
Status forEachCommOp(const Ranks &programs, RankRange range, Section section,
                     const std::function<Status(const CommOpHere &)> &f);

} // namespace pprt

#endif // PPRT_ENGINE_COMMOPSHERE_H
