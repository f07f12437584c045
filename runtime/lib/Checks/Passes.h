//===- Passes.h - the checks, one file each ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the checks. Every check but the structure's assumes a sound
// structure: indices are in range, every rank has exactly one program.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_CHECKS_PASSES_H
#define PPRT_LIB_CHECKS_PASSES_H

#include "FindingList.h"
#include "pprt/RankClasses.h"

#include <functional>

namespace pprt::checks {

class Places;

/// Instructions that complete together: a send and its receive, or the members
/// of a collective. All are of the same section.
using Rendezvous = std::vector<InstructionRef>;

// Checks.cpp; makes `count` checks, by options.forEach, and adds to `report`
// what they find, in their order. Throws std::bad_alloc if memory runs out in
// one of them.
void checkEach(const CheckOptions &options, size_t count, FindingList &report,
               const std::function<void(size_t, FindingList &)> &check);

// Structure*.cpp
void checkArtifactStructure(const ppx::ArtifactT &artifact,
                            const CheckOptions &options, FindingList &report);
void checkCalls(const ppx::ArtifactT &artifact, FindingList &report);
void checkKernels(const ppx::ArtifactT &artifact, FindingList &report);
void checkArguments(const ppx::ArtifactT &artifact, FindingList &report);
void checkInstructions(const ppx::ArtifactT &artifact, const Mesh &mesh,
                       const CheckOptions &options, FindingList &report);
/// Assumes sound arguments, outputs and instructions.
void checkStages(const ppx::ArtifactT &artifact, const Mesh &mesh,
                 FindingList &report);
/// Whether the argument keeps its value from section to section.
inline bool isPersistent(const ppx::ArgumentT &argument) {
  return argument.role == ppx::Role_param || argument.role == ppx::Role_state;
}
/// Checks the kind, reduction and tensors of a collective of `members` ranks.
void checkCollectiveTensors(
    const Instruction &instruction, uint32_t members,
    const std::function<void(const std::string &)> &fail);
/// Returns the shape of one shard: `shape` divided by the sizes of the axes
/// that split each dimension; nothing if it does not divide.
std::optional<std::vector<uint64_t>>
shardShape(const ppx::ArtifactT &artifact, const std::vector<uint64_t> &shape,
           const std::vector<std::unique_ptr<ppx::DimensionAxesT>> &sharding);
/// Returns a micro-batch's part of an argument or output over the time axes: a
/// coordinate for each axis that splits it, or -1 outside of micro-batches.
template <typename Tensor>
std::vector<int64_t> partOverTime(const Mesh &mesh, const Tensor &tensor,
                                  int32_t microBatch) {
  std::vector<int64_t> part;
  for (const auto &dimension : tensor.sharding)
    for (uint32_t axis : dimension->axes)
      if (mesh.isTime(axis) && mesh.partCount(axis) > 1)
        part.push_back(microBatch < 0 ? -1
                                      : int64_t(mesh.timeCoordinate(
                                            uint32_t(microBatch), axis)));
  return part;
}
/// Whether an enumeration read from a file holds one of its values.
template <typename Enum> bool isOneOf(Enum value, Enum first, Enum last) {
  return value >= first && value <= last;
}

// Memory.cpp
void checkMemory(const Ranks &ranks, uint64_t limit, FindingList &report);
// Races.cpp; of one of the artifact's programs, whose places are given.
void checkRaces(const Ranks &ranks, uint32_t program, const Places &places,
                FindingList &report);
// Contents.cpp; assumes that the program has no races.
void checkContents(const Ranks &ranks, uint32_t program, const Places &places,
                   FindingList &report);
// Matching.cpp; returns instructions of the speakers of `classes`.
std::vector<Rendezvous> matchCommunication(const Ranks &ranks,
                                           const RankClasses &classes,
                                           FindingList &report);
// Deadlock.cpp; `matched` is complete, for the same classes.
void checkDeadlock(const Ranks &ranks, const RankClasses &classes,
                   const std::vector<Rendezvous> &matched, FindingList &report);

} // namespace pprt::checks

#endif // PPRT_LIB_CHECKS_PASSES_H
