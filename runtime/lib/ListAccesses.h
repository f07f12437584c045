//===- ListAccesses.h - what the instructions of a list touch ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a list whose structure is sound. Out: the accesses of each instruction.
// Those that differ only in the call touch the same slots: that is found once.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_LISTACCESSES_H
#define PPRT_LIB_LISTACCESSES_H

#include "pprt/SlotAccesses.h"

namespace pprt {

class ListAccesses {
public:
  ListAccesses(const ppx::ArtifactT &artifact, const InstructionList &list)
      : artifact(artifact), list(list), known(list.numberCount()) {}

  /// Returns the accesses of an instruction, until the next call.
  const std::vector<SlotAccess> &of(size_t index) {
    const Instruction instruction = list[index];
    std::vector<SlotAccess> &its = known[list.numberOf(index)];
    if (its.empty())
      return its = accessesOf(artifact, instruction);
    for (SlotAccess &access : its)
      access.copy = instruction.copyOf(access.slot);
    return its;
  }

private:
  const ppx::ArtifactT &artifact;
  const InstructionList &list;
  std::vector<std::vector<SlotAccess>> known; ///< by number
};

} // namespace pprt

#endif // PPRT_LIB_LISTACCESSES_H
