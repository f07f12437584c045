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

#include "pprt/Device.h"

namespace pprt {

struct PoolUse {
  MemoryPool pool;
  std::vector<uint64_t> arenas; ///< bytes of each rank that has its arena there
  uint64_t others = 0;          ///< that are allocated for them besides
};

/// Collective; `mine` are the pools of this process. Fails (outOfMemory) in all
/// processes of one that is too small.
Status checkPools(World &world, const std::vector<PoolUse> &mine);

} // namespace pprt

#endif // PPRT_ENGINE_POOLS_H
