//===- Pools.h - memory that arenas of processes share ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the pool and the size of each process's arenas. Out: whether all arenas
// of a pool fit. An operating system grants more memory than it has, and then
// kills a process, so this is checked before anything is allocated.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_POOLS_H
#define PPRT_ENGINE_POOLS_H

#include "pprt/Device.h"

namespace pprt {

struct PoolUse {
  MemoryPool pool;
  std::vector<uint64_t> arenas; ///< bytes of each rank that has its arena there
  uint64_t others = 0;          ///< other bytes allocated for these ranks
};

/// Collective; `mine` are the pools of this process. Fails (outOfMemory) in all
/// processes if a pool of any of them is too small.
Status checkPools(World &world, const std::vector<PoolUse> &mine);

} // namespace pprt

#endif // PPRT_ENGINE_POOLS_H
