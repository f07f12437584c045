//===- MemoryUse.h - the contents of an arena at its peak -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_MEMORYUSE_H
#define PPRT_MEMORYUSE_H

#include "pprt/InstructionList.h"

#include <cstdint>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

/// Bytes of one rank: the arena, and the live slots at the instruction of a
/// body that needs the most. The parts may add up to less because holes between
/// slots belong to none of them.
struct MemoryUse {
  uint64_t peak = 0;
  uint64_t parameters = 0, gradients = 0, optimizer = 0, activations = 0,
           workspace = 0, communication = 0;
  /// Copies of parameters: whole ones of those that are stored in parts, and
  /// converted ones.
  uint64_t gathered = 0;
  /// Messages between processes in transit; behind the arena.
  uint64_t staging = 0;
};

/// The first and the last instruction of a body that need a value in a slot. A
/// slot has a new value where it is written and not read.
struct SlotLife {
  uint32_t slot, copy; ///< the copy's number in SlotCopies
  size_t first, last;

  bool contains(size_t index) const { return first <= index && index <= last; }
};

/// The values of a program's body, as memoryOf() adds them up.
struct SlotLives {
  std::vector<SlotLife> all;
  /// By instruction of the body, and by its arguments: an index into `all`.
  std::vector<std::vector<uint32_t>> touched;
  /// The instruction at which live slots are largest: the first of several.
  size_t peak = 0;

  /// By copy: whether it has a value at the peak.
  std::vector<bool> atPeak(const SlotCopies &copies) const;
};

/// Whether slots of the class are held from one step to the next.
inline bool livesThroughStep(ppx::SlotClass its) {
  return its == ppx::SlotClass_parameter || its == ppx::SlotClass_optimizer;
}

SlotLives livesOf(const ppx::ArtifactT &artifact, const ppx::ProgramT &program);

MemoryUse memoryOf(const ppx::ProgramT &program, const SlotLives &lives);
MemoryUse memoryOf(const ppx::ArtifactT &artifact,
                   const ppx::ProgramT &program);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_MEMORYUSE_H
