//===- SessionMemory.cpp - what a session takes of its devices ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Asked before anything is allocated, whether it fits, and read after each
// thing that takes memory: what is in use then is more by what that took.
//
//===----------------------------------------------------------------------===//
#include "Pools.h"
#include "SessionState.h"
#include "Staging.h"

using namespace pprt;

/// Collective.
Status Session::State::checkMemory() {
  std::vector<PoolUse> uses;
  Status mine;
  for (size_t i = 0; i < devices.size(); ++i) {
    Expected<MemoryPool> pool = devices[i]->pool();
    if (!pool) {
      mine = pool.status();
      break;
    }
    PoolUse &use = uses.emplace_back(PoolUse{std::move(*pool), {}});
    for (const Staging &staging : layOutStaging(host->ranks, ranksOf(i), model))
      use.arenas.push_back(staging.end);
    if (!use.pool.used)
      continue;
    needs.push_back(enqueued::findNeeds(host->ranks, ranksOf(i), use.arenas));
    use.others = needs.back().scalars + needs.back().tables;
    readings.emplace_back().opened = use.pool.used;
  }
  if (Status first = agree(mine); !first.ok())
    return first;
  return checkPools(*world, uses);
}

void Session::State::readMemory(
    std::optional<uint64_t> enqueued::MemoryReadings::*when) {
  for (size_t i = 0; i < readings.size(); ++i)
    if (const Expected<MemoryPool> pool = devices[i]->pool(); pool)
      readings[i].*when = pool->used;
}

std::vector<DeviceMemory> Session::deviceMemory() const {
  State &its = *state;
  its.readMemory(&enqueued::MemoryReadings::now);
  // A body that cannot be recorded is none that others come ahead of.
  const bool isRecorded = its.executor->stepsAhead() > 1;
  std::vector<DeviceMemory> result;
  for (size_t i = 0; i < its.readings.size(); ++i)
    result.push_back(enqueued::describeMemory(its.needs[i], its.ranksOf(i),
                                              stepsAhead(), isRecorded,
                                              its.readings[i]));
  return result;
}
