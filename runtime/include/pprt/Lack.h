//===- Lack.h - memory and descriptors that run out -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Failures for want of memory or descriptors may not say so: a library that is
// not mapped, a thread without a stack. Some libraries even retry for ever.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LACK_H
#define PPRT_LACK_H

#include "pprt/Status.h"

#include <cstdint>

#pragma GCC visibility push(default)
namespace pprt {

/// Whether `bytes` more can be mapped now.
bool hasRoom(uint64_t bytes);

/// Explains the failure of `what`, which needs a descriptor and `bytes`:
/// returns that these are lacking (outOfMemory, io), or else `otherwise`.
Status findLack(const std::string &what, uint64_t bytes,
                const Status &otherwise);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_LACK_H
