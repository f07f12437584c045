//===- CommOps.h - which instructions meet, and what they move --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact in which the transfers of an edge, and the collectives of a
// group, go through one queue of each rank. This fixes before the run which
// instructions meet: in every section the k-th send of an edge meets the k-th
// receive, and the k-th collective of a member the k-th of all others. Out: the
// places at which a rank meets others, the members of each, and the data
// movement of a comm op, by member and without memory.
//
// A rank's program alone determines what the rank does at a place, so nothing
// here walks the instructions of all ranks: a process asks about its own places
// and gets the same answers as every other process.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COMMOPS_H
#define PPRT_COMMOPS_H

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

/// A region in the memory of a member's input or output `operand`, from element
/// `offset` on.
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

/// Moves of a send and its receive: member 0 has an input, member 1 an output.
std::vector<Move> movesOfTransfer(uint64_t bytes);

/// Moves of a collective of `members` ranks, which agree on everything used
/// here; its operand i is in `inputs[i]`. In a permute, member i sends to
/// member receivers[i].
std::vector<Move>
movesOfCollective(const ppx::InstructionT &instruction,
                  const std::vector<const ppx::SlotT *> &inputs,
                  uint32_t members, const std::vector<uint32_t> &receivers);

/// The comm ops of one section.
class CommOps {
public:
  CommOps(const Ranks &ranks, Section section);

  /// Returns the places with a member in the range, in ascending order.
  std::vector<CommPlace> places(RankRange range) const;
  /// The ranks that meet there, in member order: source, target of an edge.
  std::vector<uint32_t> members(const CommPlace &place) const;
  /// Returns a number that no other place in any section has. It is below the
  /// number of ranks times that of stages and groups.
  uint64_t number(const CommPlace &place) const;

  /// The instructions of members(place)[member] at the place, as indices into
  /// the section's list; the k-th of each member meet. `rank` is that member.
  const std::vector<uint32_t> &sequence(const CommPlace &place, uint32_t member,
                                        uint32_t rank) const;

  /// Moves of the k-th comm op. Assumes that member 0 has that many.
  std::vector<Move> moves(const CommPlace &place, uint32_t k) const;

private:
  /// The instructions of a program that meet others: by the other stage; by
  /// group. Stages and groups without any have no entry.
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

#endif // PPRT_COMMOPS_H
