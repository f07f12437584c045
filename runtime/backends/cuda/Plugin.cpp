//===- Plugin.cpp - entry points of this shared library -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Plugin.h"
#include "../../engine/AllGather.h"
#include "../../plugins/Plugins.h"
#include "Gpu.h"

#include <cstring>

using namespace pprt;
using namespace pprt::cuda;

extern "C" __attribute__((visibility("default"))) const char *pprtCudaBuild() {
  return plugins::build();
}

namespace {

/// A GPU that a process sees, as sent to other processes.
struct Record {
  uint32_t process;
  char id[sizeof(CUuuid)];
  char name[256]; ///< ended by a zero
};

} // namespace

/// Collects what each process sees, the same in all.
static Expected<std::vector<Sight>> exchange(World &world, uint32_t worldSize,
                                             const std::vector<SeenGpu> &mine) {
  std::vector<Record> records;
  for (const SeenGpu &gpu : mine) {
    Record &record = records.emplace_back(Record{world.process(), {}, {}});
    gpu.id.copy(record.id, sizeof(record.id));
    gpu.name.copy(record.name, sizeof(record.name) - 1);
  }
  const auto *first = reinterpret_cast<const std::byte *>(records.data());
  const Expected<std::vector<std::byte>> all =
      allGather(world, {first, first + records.size() * sizeof(Record)});
  if (!all)
    return all.status();
  std::vector<Sight> sights;
  for (uint32_t process = 0; process < world.processCount(); ++process)
    sights.push_back({world.ranksOf(process, worldSize), {}});
  for (size_t at = 0; at < all->size(); at += sizeof(Record)) {
    Record record;
    std::memcpy(&record, &(*all)[at], sizeof(record));
    sights[record.process].gpus.push_back(
        {std::string(record.id, sizeof(record.id)), record.name});
  }
  return sights;
}

/// The part that each process does alone, once it knows its GPUs.
static Status open(const cuda::Driver &driver, const std::vector<int> &numbers,
                   RankRange ranks, bool areShared,
                   cuda::OpenedDevices &opened) {
  std::vector<std::shared_ptr<Gpu>> gpus;
  GpusByRank byRank;
  std::shared_ptr<const Nccl> nccl;
  if (!areShared) {
    Expected<Nccl> found = openNccl(driver.version);
    if (!found)
      return found.status();
    nccl = std::make_shared<const Nccl>(std::move(*found));
  }
  for (int number : numbers) {
    Expected<std::shared_ptr<Gpu>> gpu = Gpu::open(driver, number);
    if (!gpu)
      return gpu.status();
    if (!areShared)
      byRank[ranks.begin + uint32_t(gpus.size())] = *gpu;
    gpus.push_back(std::move(*gpu));
  }
  for (std::shared_ptr<Gpu> &gpu : gpus)
    opened.devices.push_back(makeDevice(std::move(gpu), byRank, nccl));
  return {};
}

static Status openTogether(World &world, uint32_t worldSize,
                           cuda::OpenedDevices &opened) {
  const auto agree = [&](const Status &mine) {
    return world.agree(mine).first;
  };
  Expected<Driver> driver = openDriver();
  Status status = driver.status();
  Expected<std::vector<SeenGpu>> seen =
      driver ? Gpu::see(*driver) : Expected<std::vector<SeenGpu>>(status);
  if (status = agree(seen.status()); !status.ok())
    return status;
  const Expected<std::vector<Sight>> sights = exchange(world, worldSize, *seen);
  if (!sights)
    return sights.status();
  const Expected<std::vector<std::vector<int>>> taken = placeRanks(*sights);
  if (!taken)
    return taken.status();
  const bool areShared = world.processCount() == 1 && (*taken)[0].size() < 2;
  return agree(open(*driver, (*taken)[world.process()],
                    (*sights)[world.process()].ranks, areShared, opened));
}

extern "C" __attribute__((visibility("default"))) void
pprtOpenCuda(World *world, uint32_t worldSize, cuda::OpenedDevices *opened) {
  opened->failure = openTogether(*world, worldSize, *opened);
}

static Status findProcessor(cuda::SeenProcessor &first) {
  const Expected<Driver> driver = openDriver();
  if (!driver)
    return driver.status();
  const Expected<std::vector<SeenGpu>> seen = Gpu::see(*driver);
  if (!seen)
    return seen.status();
  first.name = seen->front().processor();
  first.count = uint32_t(seen->size());
  return seen->front().check();
}

extern "C" __attribute__((visibility("default"))) void
pprtCudaProcessor(cuda::SeenProcessor *seen) {
  seen->failure = findProcessor(*seen);
}
