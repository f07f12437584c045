//===- MemoryUse.h - the contents of an arena at its peak -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_MEMORYUSE_H
#define PPRT_MEMORYUSE_H

#include "pprt/Ppx.h"

#include <cstdint>
#include <limits>
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

MemoryUse memoryOf(const ppx::ProgramT &program);

/// The first and the last instruction of a body that need a slot.
struct SlotLife {
  size_t first = std::numeric_limits<size_t>::max(), last = 0;

  bool contains(size_t index) const { return first <= index && index <= last; }
};

/// When the slots of a program live in a body, as memoryOf() adds them up. The
/// parts of a slot never live: their whole does.
struct SlotLives {
  /// By slot.
  std::vector<SlotLife> slots;
  /// The instruction at which live slots are largest: the first of several.
  size_t peak = 0;
};

/// The slot whose bytes these are: itself, or the one that it is a part of.
inline uint32_t wholeSlot(const ppx::ProgramT &program, uint32_t slot) {
  const int32_t whole = program.slots[slot]->part_of;
  return whole < 0 ? slot : uint32_t(whole);
}

/// Whether slots of the class are held from one step to the next.
inline bool livesThroughStep(ppx::SlotClass its) {
  return its == ppx::SlotClass_parameter || its == ppx::SlotClass_optimizer;
}

SlotLives livesOf(const ppx::ProgramT &program);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_MEMORYUSE_H
