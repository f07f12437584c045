//===- Alignment.h - where slots and areas of memory begin ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What compilers lay out, checks demand and devices rely on. Arenas themselves
// begin at multiples of the device's choice: 64 bytes of the host, of GPUs 256
// at least, which is what cuMemAlloc promises.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ALIGNMENT_H
#define PPRT_ALIGNMENT_H

#include "pprt/Ppx.h"

#include <cstdint>

#pragma GCC visibility push(default)
namespace pprt {

/// Of every slot in its arena: a line of the caches, and the widest vector.
constexpr uint64_t kSlotAlignment = 64;

/// Of a kernel's workspace in its arena, and of what messages are staged in:
/// cublasLtMatmul takes a workspace that is "256-byte aligned" (cuBLAS's
/// manual). Other slots are many and may be small; these are few.
constexpr uint64_t kWorkspaceAlignment = 256;

constexpr uint64_t alignmentOf(ppx::SlotClass its) {
  return its == ppx::SlotClass_workspace ? kWorkspaceAlignment : kSlotAlignment;
}

constexpr uint64_t alignUp(uint64_t bytes, uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_ALIGNMENT_H
