//===- RankClasses.h - ranks that nothing can tell apart --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the programs of all ranks and where ranks meet. Out: the coarsest classes
// such that ranks of one class run the same program and, wherever they meet
// others, meet as many of each class. One rank, the speaker, stands for each.
//
// Findings about the joint program of the speakers hold for that of all ranks.
// Map each comm op of the latter to the one of the former with members of the
// same classes. It waits for what its image waits for, instruction by
// instruction, so a cycle maps to a cycle. Everything its image waits for has a
// counterpart that it waits for, so from a cycle of images one can walk back
// among finitely many comm ops for ever, which is a cycle, too. (Equitable
// partitions: Godsil and Royle, Algebraic Graph Theory, 9.3.)
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_RANKCLASSES_H
#define PPRT_RANKCLASSES_H

#include "pprt/CommOps.h"

#pragma GCC visibility push(default)
namespace pprt {

class RankClasses {
public:
  /// Takes steps linear in the members of the places where ranks meet, for each
  /// round that separates more ranks: in compiled programs at most as many
  /// rounds as stages. Adds the steps to `operations`.
  static RankClasses coarsest(const Ranks &ranks, uint64_t &operations);
  /// Makes each rank its own speaker.
  static RankClasses apart(const Ranks &ranks);

  /// Returns the speakers in ascending order.
  const std::vector<uint32_t> &speakers() const { return all; }
  uint32_t speakerOf(uint32_t rank) const { return speaker[rank]; }

private:
  std::vector<uint32_t> all, speaker;
};

/// Numbers the places: equal numbers where ranks of the same classes meet and
/// do the same.
std::vector<uint32_t> numberCompanies(const Ranks &ranks,
                                      const CommOps &commOps,
                                      const std::vector<CommPlace> &places,
                                      const std::vector<uint32_t> &classOf);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_RANKCLASSES_H
