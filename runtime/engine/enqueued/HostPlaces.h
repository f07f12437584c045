//===- HostPlaces.h - where values lie in pinned memory ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What the host and a device share during a step, loads, emits and rows of
// scalars, lies one after the other in one block.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_ENQUEUED_HOSTPLACES_H
#define PPRT_ENGINE_ENQUEUED_HOSTPLACES_H

#include <cstdint>

namespace pprt::enqueued {

/// What a value of so many bytes takes there: whole cache lines.
inline uint64_t hostPlace(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

} // namespace pprt::enqueued

#endif // PPRT_ENGINE_ENQUEUED_HOSTPLACES_H
