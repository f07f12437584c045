//===- MemoryUse.h - what lives in an arena at its fullest ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_MEMORYUSE_H
#define PPRT_MEMORYUSE_H

#include "pprt/Ppx.h"

#include <cstdint>

#pragma GCC visibility push(default)
namespace pprt {

/// Bytes of one rank: the arena, and what lives at the instruction of a body
/// that needs the most. Of a hole between slots nobody is the owner, so that
/// the parts may add up to less.
struct MemoryUse {
  uint64_t peak = 0;
  uint64_t parameters = 0, gradients = 0, optimizer = 0, activations = 0,
           workspace = 0, communication = 0;
  /// Parameters, whole, that are stored in parts.
  uint64_t gathered = 0;
  /// Behind the arena: messages between processes on their way.
  uint64_t staging = 0;
};

MemoryUse memoryOf(const ppx::ProgramT &program);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_MEMORYUSE_H
