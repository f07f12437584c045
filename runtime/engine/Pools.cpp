//===- Pools.cpp - memory that arenas of processes share ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Pools.h"
#include "pprt/World.h"

#include <cstring>
#include <limits>

using namespace pprt;

namespace {

/// Of one process.
struct Want {
  uint64_t bytes = 0, ranks = 0;
  std::string pool;
};

/// Sums may not fit a number.
uint64_t addBytes(uint64_t a, uint64_t b) {
  return b > std::numeric_limits<uint64_t>::max() - a
             ? std::numeric_limits<uint64_t>::max()
             : a + b;
}

std::vector<std::byte> pack(const Want &want) {
  const uint64_t numbers[] = {want.bytes, want.ranks, want.pool.size()};
  std::vector<std::byte> bytes(sizeof(numbers) + want.pool.size());
  std::memcpy(bytes.data(), numbers, sizeof(numbers));
  std::memcpy(bytes.data() + sizeof(numbers), want.pool.data(),
              want.pool.size());
  return bytes;
}

/// Of all processes, one after another.
std::vector<Want> unpack(const std::vector<std::byte> &bytes) {
  std::vector<Want> wants;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t numbers[3];
    std::memcpy(numbers, &bytes[at], sizeof(numbers));
    at += sizeof(numbers);
    const auto *pool = reinterpret_cast<const char *>(bytes.data() + at);
    wants.push_back({numbers[0], numbers[1], std::string(pool, numbers[2])});
    at += numbers[2];
  }
  return wants;
}

} // namespace

Status pprt::checkPool(World &world, const MemoryPool &pool,
                       const std::vector<uint64_t> &arenas) {
  Want mine = {0, arenas.size(), pool.id};
  for (uint64_t bytes : arenas)
    mine.bytes = addBytes(mine.bytes, bytes);
  const auto gathered = world.gather(pack(mine));
  if (!gathered)
    return gathered.status();
  std::vector<std::byte> all;
  for (const std::vector<std::byte> &its : *gathered)
    all.insert(all.end(), its.begin(), its.end());
  if (Status status = world.broadcast(all); !status.ok())
    return status;

  uint64_t bytes = 0, ranks = 0;
  std::string sharers;
  uint32_t count = 0, process = 0;
  for (const Want &want : unpack(all)) {
    const uint32_t number = process++;
    if (want.pool != pool.id)
      continue;
    bytes = addBytes(bytes, want.bytes);
    ranks += want.ranks;
    sharers += (count++ ? ", process " : "process ") + std::to_string(number) +
               ": " + std::to_string(want.bytes);
  }
  if (bytes <= pool.capacity)
    return {};
  return Status(
      ExitCode::outOfMemory,
      "expects arenas of at most " + std::to_string(pool.capacity) +
          " bytes in all, " + pool.name + ", got " + std::to_string(bytes) +
          " bytes for " + std::to_string(ranks) +
          (ranks == 1 ? " rank" : " ranks") +
          (count > 1 ? " in processes that share it (" + sharers + ")" : "") +
          "; give a smaller model or batch" +
          (count > 1 ? ", or more hosts" : ""));
}
