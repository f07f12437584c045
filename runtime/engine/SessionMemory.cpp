//===- SessionMemory.cpp - device memory of a session ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Checks before any allocation whether everything fits, and reads the memory in
// use after each allocation, so that the differences are what each has taken.
//
//===----------------------------------------------------------------------===//
#include "Pools.h"
#include "SessionState.h"

using namespace pprt;

/// Collective.
Status Session::State::checkMemory() {
  std::vector<PoolUse> uses;
  Status mine;
  for (size_t i = 0; i < devices->count(); ++i) {
    Expected<MemoryPool> pool = devices->device(i).pool();
    if (!pool) {
      mine = pool.status();
      break;
    }
    PoolUse &use = uses.emplace_back(PoolUse{std::move(*pool), {}});
    for (const Staging &staging : layOutStaging(host->ranks, ranksOf(i), model))
      use.arenas.push_back(staging.end);
    if (!use.pool.used)
      continue;
    needs.push_back(
        enqueued::findNeeds(host->ranks, ranksOf(i), use.arenas, *backend));
    use.others = needs.back().allocated() - needs.back().arenas;
    readings.emplace_back().opened = use.pool.used;
  }
  if (Status first = agree(mine); !first.ok())
    return first;
  return checkPools(*world, uses);
}

void Session::State::readMemory(
    std::optional<uint64_t> enqueued::MemoryReadings::*when) {
  for (size_t i = 0; i < readings.size(); ++i)
    if (const Expected<MemoryPool> pool = devices->device(i).pool(); pool)
      readings[i].*when = pool->used;
}

std::vector<DeviceMeasurements> Session::State::measureDevices() {
  readMemory(&enqueued::MemoryReadings::now);
  std::vector<DeviceMeasurements> result(devices->count());
  for (size_t i = 0; i < devices->count(); ++i) {
    DeviceMeasurements &its = result[i];
    its.ranks = ranksOf(i);
    its.timesError = executor->timesError(its.ranks.begin, Section::body);
    // Steps can be submitted ahead exactly if the body is recorded.
    its.isRecorded = executor->stepsAhead() > 1;
    its.stepsAhead = stepsAhead();
    its.tellsMemory = !readings.empty();
    if (!its.tellsMemory)
      continue;
    its.needs = needs[i];
    its.readings = readings[i];
  }
  return result;
}

std::vector<DeviceMemory> Session::deviceMemory() const {
  std::vector<DeviceMemory> result;
  const auto add = [&](const std::vector<DeviceMeasurements> &devices) {
    for (const DeviceMeasurements &its : devices)
      if (its.tellsMemory)
        result.push_back(
            enqueued::describeMemory(its.needs, its.ranks, its.stepsAhead,
                                     its.isRecorded, its.readings));
  };
  add(state->measureDevices());
  for (const std::vector<DeviceMeasurements> &its : state->devicesElsewhere)
    add(its);
  return result;
}
