//===- Device.cpp - a GPU as a device -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "Kernels.h"
#include "Streams.h"
#include "Transport.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::cuda;

namespace {

class GpuMemory final : public Memory {
public:
  /// `nccl`: the allocator, instead of the driver.
  GpuMemory(std::shared_ptr<const Gpu> gpu, std::shared_ptr<const Nccl> nccl,
            CUdeviceptr place, uint64_t bytes)
      : gpu(std::move(gpu)), nccl(std::move(nccl)), place(place), bytes(bytes) {
  }
  ~GpuMemory() override {
    if (!gpu->makeCurrent().ok())
      return;
    if (nccl)
      nccl->ncclMemFree(address());
    else
      gpu->driver.cuMemFree(place);
  }
  std::byte *address() const override {
    return reinterpret_cast<std::byte *>(uintptr_t(place));
  }
  uint64_t size() const override { return bytes; }
  std::byte *host() const override { return nullptr; }
  bool keepsValues() const override { return true; }
  Status read(std::byte *to, uint64_t offset, uint64_t count) const override {
    return gpu->read(to, address() + offset, count);
  }
  Status write(uint64_t offset, const std::byte *from,
               uint64_t count) override {
    return gpu->write(address() + offset, from, count);
  }
  uint64_t writtenBytes() const override { return 0; }

private:
  const std::shared_ptr<const Gpu> gpu;
  const std::shared_ptr<const Nccl> nccl;
  const CUdeviceptr place;
  const uint64_t bytes;
};

class GpuDevice final : public GpuStreams {
public:
  GpuDevice(std::shared_ptr<const Gpu> gpu, const GpusByRank &all,
            std::shared_ptr<const Nccl> nccl)
      : GpuStreams(gpu), all(all), nccl(std::move(nccl)), code(std::move(gpu)) {
  }

  std::string name() const override {
    return gpu->driver.isEmulated ? "cuda (emulated)" : "cuda";
  }
  Expected<MemoryPool> pool() const override;
  Status load(const ppx::ArtifactT &artifact) override {
    return code.load(artifact);
  }
  Expected<std::unique_ptr<const Kernel>>
  prepare(const ppx::KernelT &kernel) override {
    return code.prepare(kernel);
  }
  std::vector<UnfusedProduct> unfusedProducts() const override {
    return code.unfusedProducts();
  }
  Expected<std::unique_ptr<Memory>> allocate(uint64_t bytes) override;
  Expected<std::unique_ptr<Memory>> allocateArena(uint64_t bytes) override;
  std::unique_ptr<const Launch> bind(Binding binding) override {
    return std::make_unique<const KernelLaunch>(gpu, binding);
  }
  Expected<std::unique_ptr<enqueued::StreamTransport>>
  transport(World &world, uint32_t ranks) override {
    using None = std::unique_ptr<enqueued::StreamTransport>;
    return nccl ? GpuTransport::create(world, ranks, all, *nccl)
                : Expected<None>(None());
  }

private:
  const GpusByRank all;
  const std::shared_ptr<const Nccl> nccl; ///< null: no rank is elsewhere
  Code code;
};

} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Expected<MemoryPool> GpuDevice::pool() const {
  if (Status status = gpu->makeCurrent(); !status.ok())
    return status;
  size_t free = 0, total = 0;
  PP_TRY(*gpu, cuMemGetInfo, &free, &total);
  return MemoryPool{gpu->seen.id, "what is free of '" + gpu->seen.name + "'",
                    free, total - free};
}

Expected<std::unique_ptr<Memory>> GpuDevice::allocate(uint64_t bytes) {
  if (Status status = gpu->makeCurrent(); !status.ok())
    return status;
  const Expected<CUdeviceptr> place = gpu->allocate(bytes);
  if (!place)
    return place.status();
  return std::unique_ptr<Memory>(new GpuMemory(gpu, nullptr, *place, bytes));
}

/// NCCL can register its own allocations with other ranks when a graph is
/// recorded, and then needs no copies of its own.
Expected<std::unique_ptr<Memory>> GpuDevice::allocateArena(uint64_t bytes) {
  if (!nccl)
    return allocate(bytes);
  if (Status status = gpu->makeCurrent(); !status.ok())
    return status;
  void *place = nullptr;
  const Status given = nccl->check(
      nccl->ncclMemAlloc(&place, std::max<uint64_t>(bytes, 1)), "ncclMemAlloc");
  if (!given.ok()) {
    // NCCL has a single error for all errors of the driver.
    const Expected<MemoryPool> left = pool();
    if (!left || left->capacity >= bytes)
      return given;
    return Status(ExitCode::outOfMemory, given.message() + "; " +
                                             std::to_string(left->capacity) +
                                             " bytes are free");
  }
  return std::unique_ptr<Memory>(new GpuMemory(
      gpu, nccl, CUdeviceptr(reinterpret_cast<uintptr_t>(place)), bytes));
}

std::unique_ptr<enqueued::StreamDevice>
cuda::makeDevice(std::shared_ptr<Gpu> gpu, const GpusByRank &all,
                 const std::shared_ptr<const Nccl> &nccl) {
  return std::make_unique<GpuDevice>(std::move(gpu), all, nccl);
}
