//===- Pools.cpp - memory that arenas of processes share ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Pools.h"
#include "AllGather.h"
#include "pprt/Bytes.h"
#include "pprt/World.h"

#include <cstring>
#include <limits>

using namespace pprt;

namespace {

/// Bytes that one process needs of one pool.
struct Want {
  uint64_t bytes = 0, ranks = 0, process = 0;
  std::string pool;
};

/// Saturates: sums may overflow.
uint64_t addBytes(uint64_t a, uint64_t b) {
  return b > std::numeric_limits<uint64_t>::max() - a
             ? std::numeric_limits<uint64_t>::max()
             : a + b;
}

void pack(const Want &want, std::vector<std::byte> &bytes) {
  const uint64_t numbers[] = {want.bytes, want.ranks, want.process,
                              want.pool.size()};
  const auto add = [&](const void *from, size_t size) {
    const auto *first = static_cast<const std::byte *>(from);
    bytes.insert(bytes.end(), first, first + size);
  };
  add(numbers, sizeof(numbers));
  add(want.pool.data(), want.pool.size());
}

/// Unpacks those of all processes, one after another.
std::vector<Want> unpackWants(const std::vector<std::byte> &bytes) {
  std::vector<Want> wants;
  for (size_t at = 0; at < bytes.size();) {
    uint64_t numbers[4];
    std::memcpy(numbers, &bytes[at], sizeof(numbers));
    at += sizeof(numbers);
    const auto *pool = reinterpret_cast<const char *>(bytes.data() + at);
    wants.push_back(
        {numbers[0], numbers[1], numbers[2], std::string(pool, numbers[3])});
    at += numbers[3];
  }
  return wants;
}

} // namespace

static std::string told(uint64_t bytes) {
  return printBytes(double(bytes)) + " (" + std::to_string(bytes) + " bytes)";
}

static Status check(const PoolUse &use, const MemoryPool &pool,
                    const std::vector<Want> &wants) {
  uint64_t bytes = 0, ranks = 0;
  std::string sharers;
  uint32_t count = 0;
  for (const Want &want : wants) {
    if (want.pool != pool.id)
      continue;
    bytes = addBytes(bytes, want.bytes);
    ranks += want.ranks;
    sharers += (count++ ? ", process " : "process ") +
               std::to_string(want.process) + ": " + std::to_string(want.bytes);
  }
  if (bytes <= pool.capacity)
    return {};
  return Status(
      ExitCode::outOfMemory,
      "expects " + told(bytes) + " for " + std::to_string(ranks) +
          (ranks == 1 ? " rank" : " ranks") +
          (count > 1 ? " of processes that share it (" + sharers + ")" : "") +
          ", got " + told(pool.capacity) + ", " + pool.name +
          (use.others ? "; --dry-run lists its use" : "") +
          "; use a smaller model or batch" +
          (count > 1 ? ", or more hosts" : ""));
}

Status pprt::checkPools(World &world, const std::vector<PoolUse> &mine) {
  std::vector<std::byte> packed;
  for (const PoolUse &use : mine) {
    Want want = {use.others, use.arenas.size(), world.process(), use.pool.id};
    for (uint64_t bytes : use.arenas)
      want.bytes = addBytes(want.bytes, bytes);
    pack(want, packed);
    for (const MemoryPool &around : use.pool.around) {
      want.pool = around.id;
      pack(want, packed);
    }
  }
  const Expected<std::vector<std::byte>> all =
      allGather(world, std::move(packed));
  if (!all)
    return all.status();
  const std::vector<Want> wants = unpackWants(*all);
  for (const PoolUse &use : mine) {
    Status status = check(use, use.pool, wants);
    for (const MemoryPool &around : use.pool.around)
      if (status.ok())
        status = check(use, around, wants);
    if (!status.ok())
      return status;
  }
  return {};
}
