//===- IssueOrder.h - in which order devices may be told --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact that passed checkArtifact(). Out: of each section an order of
// all instructions of all ranks in which each comes after what it waits for,
// and instructions that meet come together. It is the order that the deadlock
// check finds, so it exists for every artifact that passes.
//
// Not every device looks at all queues of a rank at once, as a thread of a
// processor does:
//
//   channels  queues run independently of each other (threads, MPI)
//   ordered   what communicates may hold up what was issued behind it, and a
//             device has room for a few (NCCL on several communicators)
//   shared    one device has the queues of many ranks, and may take anything in
//             the order in which it was issued (virtual ranks of one GPU)
//
// What ends on the first ends on the others, too, if each rank issues in this
// order: the first instruction that has not completed waits for none that is
// behind it, on its own rank or another. In the order of its list it need not.
//
// A shared device is told one unit after the other, and a unit is an
// instruction, or a comm op with all its members: told member by member, the
// first would wait on the device for those behind it.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ISSUEORDER_H
#define PPRT_ISSUEORDER_H

#include "pprt/Ranks.h"

#include <tuple>

#pragma GCC visibility push(default)
namespace pprt {

/// A place in the order of issue, the same for instructions that meet, and for
/// them alone.
struct IssueUnit {
  uint32_t position; ///< the same, too, for equal ones of other ranks
  uint32_t leader;   ///< of those that meet, the rank that names them

  friend bool operator<(const IssueUnit &a, const IssueUnit &b) {
    return std::tie(a.position, a.leader) < std::tie(b.position, b.leader);
  }
  friend bool operator==(const IssueUnit &a, const IssueUnit &b) {
    return std::tie(a.position, a.leader) == std::tie(b.position, b.leader);
  }
};

class IssueOrder {
public:
  /// The same in every process. Takes as long as the checks. The artifact and
  /// the mesh must outlive it.
  IssueOrder(const Ranks &ranks, Section section);

  /// The place of an instruction among those of all ranks.
  IssueUnit unit(uint32_t rank, uint32_t index) const {
    return {position(rank, index), leader(rank, index)};
  }
  /// The rank's instructions by their positions, as indices into its list.
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
