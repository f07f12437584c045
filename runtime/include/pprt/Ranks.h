//===- Ranks.h - the ranks of an artifact, each with its program -*- C++ -*-==//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact of sound structure, in which every rank has exactly one
// program. Refers to the artifact and its mesh, without copies.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_RANKS_H
#define PPRT_RANKS_H

#include "pprt/Mesh.h"
#include "pprt/Program.h"

#include <memory>

#pragma GCC visibility push(default)
namespace pprt {

/// One instruction of one rank.
struct InstructionRef {
  uint32_t rank;
  Section section;
  uint32_t index; ///< in the section's list
};

/// Ranks begin to end - 1.
struct RankRange {
  uint32_t begin = 0, end = 0;

  uint32_t size() const { return end - begin; }
  bool contains(uint32_t rank) const { return rank >= begin && rank < end; }
};

class Ranks {
public:
  Ranks(const ppx::ArtifactT &artifact, const Mesh &mesh);

  /// Returns an index into the artifact's programs.
  uint32_t programOf(uint32_t rank) const { return programs[rank]; }
  const ppx::ProgramT &program(uint32_t rank) const {
    return *artifact.programs[programs[rank]];
  }
  const InstructionList &instructions(uint32_t rank, Section section) const {
    return instructionsOf(programs[rank], section);
  }
  const InstructionList &instructionsOf(uint32_t program,
                                        Section section) const {
    return (*lists)[program * kSections.size() + size_t(section)];
  }
  Instruction instruction(const InstructionRef &ref) const {
    return instructions(ref.rank, ref.section)[ref.index];
  }

  const ppx::ArtifactT &artifact;
  const Mesh &mesh;

private:
  std::vector<uint32_t> programs; ///< by rank
  /// By program and section; copies share them.
  std::shared_ptr<const std::vector<InstructionList>> lists;
};

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_RANKS_H
