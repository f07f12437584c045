//===- Alignment.h - where slots and areas of memory begin ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Alignments that compilers use, checks demand and devices rely on. The device
// chooses the alignment of whole arenas: 64 bytes on the host, at least 256 on
// GPUs, which is what cuMemAlloc promises.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ALIGNMENT_H
#define PPRT_ALIGNMENT_H

#include "pprt/Ppx.h"

#include <cstdint>

#pragma GCC visibility push(default)
namespace pprt {

/// Alignment of every slot in its arena: a cache line, and the widest vector.
constexpr uint64_t kSlotAlignment = 64;

/// Alignment of kernel workspaces in their arena, and of message staging:
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
