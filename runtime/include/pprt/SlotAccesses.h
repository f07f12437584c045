//===- SlotAccesses.h - the memory that an instruction touches --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_SLOTACCESSES_H
#define PPRT_SLOTACCESSES_H

#include "pprt/InstructionList.h"

#include <cstdint>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

/// One slot that an instruction touches, and which of its copies.
struct SlotAccess {
  uint32_t slot, copy;
  bool reads, writes;
};

/// Returns the slots that an instruction touches, in order of its arguments.
std::vector<SlotAccess> accessesOf(const ppx::ArtifactT &artifact,
                                   const Instruction &instruction);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_SLOTACCESSES_H
