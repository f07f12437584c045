//===- IssueOrder.h - an order of commands for devices ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact that passed checkArtifact(). Out: for each section an order
// of all instructions of all ranks in which each comes after those it waits
// for, and instructions that meet come together. It is the order that the
// deadlock check finds, so it exists for every artifact that passes.
//
// Devices differ in whether they look at all queues of a rank at once, as a
// processor's thread does:
//
//   channels  queues run independently of each other (threads, MPI)
//   ordered   communication may hold up commands issued behind it, and a
//             device has room for a few (NCCL on several communicators)
//   shared    one device has the queues of many ranks, and may run all in
//             the order in which it was issued (virtual ranks of one GPU)
//
// A program that ends on the first kind ends on the others, too, if each rank
// issues in this order: the first uncompleted instruction waits for none behind
// it, on any rank. In the order of a rank's list it may not end.
//
// A shared device gets one unit after the other: one instruction, or a comm op
// with all its members. Given member by member, the first member would wait on
// the device for those behind it.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ISSUEORDER_H
#define PPRT_ISSUEORDER_H

#include "pprt/Ranks.h"

#include <tuple>

#pragma GCC visibility push(default)
namespace pprt {

/// A place in the order of issue, shared by exactly those instructions that
/// meet.
struct IssueUnit {
  uint32_t position; ///< the same, too, for equal instructions of other ranks
  uint32_t leader;   ///< rank that names the instructions that meet

  friend bool operator<(const IssueUnit &a, const IssueUnit &b) {
    return std::tie(a.position, a.leader) < std::tie(b.position, b.leader);
  }
  friend bool operator==(const IssueUnit &a, const IssueUnit &b) {
    return std::tie(a.position, a.leader) == std::tie(b.position, b.leader);
  }
};

class IssueOrder {
public:
  /// Computes the same order in every process, in as much time as the checks.
  /// The artifact and the mesh must outlive it.
  IssueOrder(const Ranks &ranks, Section section);

  /// The place of an instruction among those of all ranks.
  IssueUnit unit(uint32_t rank, uint32_t index) const {
    return {position(rank, index), leader(rank, index)};
  }
  /// Returns the rank's instructions in this order, as indices into its list.
  std::vector<uint32_t> of(uint32_t rank) const;

private:
  uint32_t position(uint32_t rank, uint32_t index) const {
    return positions[classOf[rank]][index];
  }
  uint32_t leader(uint32_t rank, uint32_t index) const;

  const Ranks ranks;
  const Section section;
  std::vector<uint32_t> classOf;                ///< by rank
  std::vector<std::vector<uint32_t>> positions; ///< by class and instruction
};

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_ISSUEORDER_H
