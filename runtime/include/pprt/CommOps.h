//===- CommOps.h - which instructions meet, and what they move --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact in which the transfers of an edge, and the collectives of a
// group, go through one queue of each rank. Which instructions meet is
// therefore fixed before the run: in every section the k-th send of an edge
// meets the k-th receive, and the k-th collective of a member the k-th of all
// others. Out: the places at which a rank meets others, who takes part in each,
// and the data movement of a comm op, by member and without memory.
//
// What a rank does at a place follows from its program alone, so that nothing
// here walks the instructions of all ranks: a process asks about the places of
// its own, and gets the answers that every other process gets.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_MEETINGS_H
#define PPRT_MEETINGS_H

#include "pprt/Ranks.h"

#include <map>
#include <tuple>

#pragma GCC visibility push(default)
namespace pprt {

/// A directed edge between two ranks, or an instance of a group.
struct CommPlace {
  bool isGroup = false;
  uint32_t first = 0;  ///< the source; the group
  uint32_t second = 0; ///< the target; the instance's first member

  friend bool operator<(const CommPlace &a, const CommPlace &b) {
    return std::tie(a.isGroup, a.first, a.second) <
           std::tie(b.isGroup, b.first, b.second);
  }
  friend bool operator==(const CommPlace &a, const CommPlace &b) {
    return std::tie(a.isGroup, a.first, a.second) ==
           std::tie(b.isGroup, b.first, b.second);
  }
};

/// outer x middle runs of `run` contiguous elements; strides in elements.
struct Region {
  uint64_t outer = 1, middle = 1, run = 0;
  uint64_t sourceOuter = 0, sourceMiddle = 0;
  uint64_t targetOuter = 0, targetMiddle = 0;
};

/// Where a member has a region: in the memory of its input or output `operand`,
/// from element `offset` on.
struct Part {
  uint32_t member, operand;
  uint64_t offset;
};

/// Reads a region from every source, reduces in the order of the sources if
/// there are several, and writes the result to every target. bf16 is added in
/// f32 and rounded once. The moves of a comm op are independent of each other:
/// a target lies apart from all other parts, or exactly on a source of its
/// move.
struct Move {
  Region region;
  ppx::ElementType element = ppx::ElementType_i1;
  ppx::Reduction reduction = ppx::Reduction_sum;
  std::vector<Part> sources, targets;
};

/// Of a send with its receive: member 0 has one input, member 1 one output.
std::vector<Move> movesOfTransfer(uint64_t bytes);

/// Of a collective of `members` ranks, which agree on everything used here; its
/// operand i is in `inputs[i]`. Of a permute, member i sends to member
/// receivers[i].
std::vector<Move>
movesOfCollective(const ppx::InstructionT &instruction,
                  const std::vector<const ppx::SlotT *> &inputs,
                  uint32_t members, const std::vector<uint32_t> &receivers);

/// The comm ops of one section.
class CommOps {
public:
  CommOps(const Ranks &ranks, Section section);

  /// In ascending order, the places with a member in the range.
  std::vector<CommPlace> places(RankRange range) const;
  /// The ranks that meet there, in member order: of an edge source and target.
  std::vector<uint32_t> members(const CommPlace &place) const;
  /// A number that no other place has, of sections either. Below the number of
  /// ranks times that of stages and groups.
  uint64_t number(const CommPlace &place) const;

  /// The instructions of members(place)[member] at the place, as indices into
  /// the section's list; the k-th of each member meet. `rank` is that member.
  const std::vector<uint32_t> &sequence(const CommPlace &place, uint32_t member,
                                        uint32_t rank) const;

  /// What the k-th comm op moves. Assumes that member 0 has that many.
  std::vector<Move> moves(const CommPlace &place, uint32_t k) const;

private:
  /// The instructions of a program that meet others: by the other stage; by
  /// group. Of a stage or group with none there is no entry.
  using Sequences = std::map<uint32_t, std::vector<uint32_t>>;
  struct Appointments {
    Sequences sends, receives, collectives;
  };

  const Ranks &ranks;
  const Section section;
  std::vector<Appointments> appointments; ///< by program
};

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_MEETINGS_H
