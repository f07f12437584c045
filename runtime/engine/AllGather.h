//===- AllGather.h - the bytes of all processes, in each --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the bytes of one process. Out: those of all processes, in their order, in
// each. Assumes that all call it, in the same order with other collectives.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_ALLGATHER_H
#define PPRT_ENGINE_ALLGATHER_H

#include "pprt/World.h"

#include <utility>

namespace pprt {

/// Collective. Returns the bytes of all processes, one after the other.
inline Expected<std::vector<std::byte>> allGather(World &world,
                                                  std::vector<std::byte> mine) {
  const auto gathered = world.gather(std::move(mine));
  if (!gathered)
    return gathered.status();
  std::vector<std::byte> all;
  for (const std::vector<std::byte> &its : *gathered)
    all.insert(all.end(), its.begin(), its.end());
  if (Status status = world.broadcast(all); !status.ok())
    return status;
  return all;
}

} // namespace pprt

#endif // PPRT_ENGINE_ALLGATHER_H
