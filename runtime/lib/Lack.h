//===- Lack.h - what the system has no more of ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What fails for want of memory or descriptors may not say so: a library that
// is not mapped, a thread without a stack. Some even try again for ever.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_LACK_H
#define PPRT_LIB_LACK_H

#include "pprt/Status.h"

#include <cstdint>

namespace pprt {

/// Whether so many bytes more can be mapped now.
bool hasRoom(uint64_t bytes);

/// `what` has failed, which wants a descriptor and so many bytes: that these
/// are lacking (outOfMemory, io), or else `otherwise`.
Status findLack(const std::string &what, uint64_t bytes,
                const Status &otherwise);

} // namespace pprt

#endif // PPRT_LIB_LACK_H
