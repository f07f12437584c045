//===- Pools.h - memory that arenas of processes share ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: where the arenas of each process are, and how large they would be. Out:
// whether all of a pool fit. A system grants more than it has, and then kills a
// process, so this is asked before anything is allocated.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_POOLS_H
#define PPRT_ENGINE_POOLS_H

#include "Device.h"

namespace pprt {

/// Collective. `arenas`: bytes of each rank of this process. Fails
/// (outOfMemory) in all processes of a pool that is too small.
Status checkPool(World &world, const MemoryPool &pool,
                 const std::vector<uint64_t> &arenas);

} // namespace pprt

#endif // PPRT_ENGINE_POOLS_H
