//===- Device.cpp - a GPU as a device -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel's entry takes the address of each parameter, that of the launch's
// scalars, and that of its gate, or null. All are in the device's memory.
//
//===----------------------------------------------------------------------===//
#include "../cpu/Finite.h"
#include "Gpu.h"
#include "pprt/World.h"

#include <algorithm>
#include <limits>

using namespace pprt;
using namespace pprt::cuda;

namespace {

struct GpuKernel final : Kernel {
  CUfunction function = nullptr;
  unsigned blocks = 0, threads = 0;
};

struct GpuLaunch final : Launch {
  explicit GpuLaunch(const Binding &binding)
      : kernel(static_cast<const GpuKernel &>(*binding.kernel)) {
    for (const std::byte *argument : binding.arguments)
      values.push_back(pointer(argument));
    values.push_back(pointer(binding.scalars));
    values.push_back(pointer(binding.gate));
    for (CUdeviceptr &value : values)
      parameters.push_back(&value);
  }
  const GpuKernel &kernel;
  std::vector<CUdeviceptr> values;
  std::vector<void *> parameters; ///< where the driver finds each
};

class GpuMemory final : public Memory {
public:
  GpuMemory(std::shared_ptr<Gpu> gpu, CUdeviceptr place, uint64_t bytes)
      : gpu(std::move(gpu)), place(place), bytes(bytes) {}
  ~GpuMemory() override {
    if (gpu->enter().ok())
      gpu->driver.cuMemFree(place);
  }
  std::byte *address() const override {
    return reinterpret_cast<std::byte *>(uintptr_t(place));
  }
  uint64_t size() const override { return bytes; }
  std::byte *host() const override { return nullptr; }
  uint64_t writtenBytes() const override { return 0; }

private:
  const std::shared_ptr<Gpu> gpu;
  const CUdeviceptr place;
  const uint64_t bytes;
};

class GpuStream final : public Stream {
public:
  GpuStream(std::shared_ptr<Gpu> gpu, CUstream stream)
      : gpu(std::move(gpu)), stream(stream) {}
  ~GpuStream() override {
    if (gpu->enter().ok())
      gpu->driver.cuStreamDestroy(stream);
  }

  Status launch(const Launch &launch) override;
  Status copy(std::byte *to, const std::byte *from, uint64_t bytes) override;
  Status flag(const std::vector<Values> &values, std::byte *flag) override;
  Status write(std::byte *to, const void *from, uint64_t bytes) override {
    return gpu->write(to, from, bytes);
  }

private:
  Status finish(CUresult result, const char *call) {
    Status status = gpu->check(result, call);
    if (status.ok())
      status = gpu->check(gpu->driver.cuStreamSynchronize(stream),
                          "cuStreamSynchronize");
    return status;
  }

  const std::shared_ptr<Gpu> gpu;
  const CUstream stream;
};

class GpuDevice final : public Device {
public:
  explicit GpuDevice(std::shared_ptr<Gpu> gpu) : gpu(std::move(gpu)) {}
  ~GpuDevice() override {
    if (code && gpu->enter().ok())
      gpu->driver.cuModuleUnload(code);
  }

  uint64_t capacity() const override;
  Status load(const ppx::ArtifactT &artifact) override;
  Expected<std::unique_ptr<const Kernel>>
  prepare(const ppx::KernelT &kernel) override;
  std::unique_ptr<Memory> allocate(uint64_t bytes) override;
  Expected<std::unique_ptr<Stream>> stream(Memory &arena,
                                           AllocationCounter &heap) override;
  std::unique_ptr<const Launch> bind(Binding binding) override {
    return std::make_unique<const GpuLaunch>(binding);
  }
  Expected<std::unique_ptr<Transport>> transport(World &world,
                                                 uint32_t ranks) override;
  std::vector<NamedCount> counters() const override { return {}; }

private:
  const std::shared_ptr<Gpu> gpu;
  CUmodule code = nullptr;
};

} // namespace

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Status GpuDevice::load(const ppx::ArtifactT &artifact) {
  const std::string &target = artifact.processor;
  const auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  const bool isForGpus = target.size() > 3 && target.size() < 8 &&
                         target.compare(0, 3, "sm_") == 0 &&
                         std::all_of(target.begin() + 3, target.end(), isDigit);
  // PTX of an older architecture runs on all newer ones.
  if (!isForGpus || std::stoi(target.substr(3)) > gpu->capability)
    return Status(ExitCode::device,
                  "expects kernels for sm_" + std::to_string(gpu->capability) +
                      " of '" + gpu->name +
                      "' or an older GPU, got those for '" + target +
                      "'; compile with --targets=sm_80");
  if (artifact.object.empty())
    return {};
  if (Status status = gpu->enter(); !status.ok())
    return status;
  // The driver reads to a zero.
  const std::string text(artifact.object.begin(), artifact.object.end());
  return gpu->check(
      gpu->driver.cuModuleLoadDataEx(&code, text.c_str(), 0, nullptr, nullptr),
      "cuModuleLoadDataEx");
}

Expected<std::unique_ptr<const Kernel>>
GpuDevice::prepare(const ppx::KernelT &kernel) {
  const std::string where = "kernel '" + kernel.name + "': ";
  const ppx::CompiledKernelT *body = kernel.body.AsCompiledKernel();
  if (!body)
    return Status(ExitCode::device,
                  where + "expects no product of matrices, which GPUs have not "
                          "learnt yet; run it with --device=cpu");
  constexpr uint64_t kBlocks = std::numeric_limits<int32_t>::max();
  if (body->grid == 0 || body->grid > kBlocks || body->block == 0 ||
      body->block > 1024)
    return Status(ExitCode::badArtifact,
                  where +
                      "expects 1 to 2147483647 blocks of 1 to 1024 "
                      "threads, got " +
                      std::to_string(body->grid) + " of " +
                      std::to_string(body->block));
  auto result = std::make_unique<GpuKernel>();
  result->blocks = unsigned(body->grid);
  result->threads = body->block;
  Status status = gpu->enter();
  if (!status.ok())
    return status;
  const CUresult found =
      code ? gpu->driver.cuModuleGetFunction(&result->function, code,
                                             body->symbol.c_str())
           : CUDA_ERROR_NOT_FOUND;
  if (found == CUDA_ERROR_NOT_FOUND)
    return Status(ExitCode::badArtifact, where + "expects the symbol '" +
                                             body->symbol +
                                             "', which is not there");
  if (status = gpu->check(found, "cuModuleGetFunction"); !status.ok())
    return Status(status.code(), where + status.message());
  return std::unique_ptr<const Kernel>(std::move(result));
}

//===----------------------------------------------------------------------===//
// What streams do
//===----------------------------------------------------------------------===//

Status GpuStream::launch(const Launch &launch) {
  const auto &task = static_cast<const GpuLaunch &>(launch);
  return finish(gpu->driver.cuLaunchKernel(
                    task.kernel.function, task.kernel.blocks, 1, 1,
                    task.kernel.threads, 1, 1, 0, stream,
                    const_cast<void **>(task.parameters.data()), nullptr),
                "cuLaunchKernel");
}

Status GpuStream::copy(std::byte *to, const std::byte *from, uint64_t bytes) {
  if (bytes == 0)
    return {};
  return finish(
      gpu->driver.cuMemcpyDtoDAsync(pointer(to), pointer(from), bytes, stream),
      "cuMemcpyDtoDAsync");
}

/// On the host, where the bytes are brought.
Status GpuStream::flag(const std::vector<Values> &values, std::byte *flag) {
  bool isFinite = true;
  std::vector<std::byte> bytes;
  for (Values its : values) {
    bytes.resize(its.bytes);
    if (Status status = gpu->read(bytes.data(), its.address, its.bytes);
        !status.ok())
      return status;
    its.address = bytes.data();
    isFinite &= cpu::allFinite(its);
  }
  const int32_t word = isFinite ? 0 : 1;
  return gpu->write(flag, &word, sizeof(word));
}

Expected<std::unique_ptr<Stream>> GpuDevice::stream(Memory &,
                                                    AllocationCounter &) {
  if (Status status = gpu->enter(); !status.ok())
    return status;
  CUstream stream = nullptr;
  if (Status status = gpu->check(gpu->driver.cuStreamCreateWithPriority(
                                     &stream, CU_STREAM_NON_BLOCKING, 0),
                                 "cuStreamCreateWithPriority");
      !status.ok())
    return status;
  return std::unique_ptr<Stream>(new GpuStream(gpu, stream));
}

Expected<std::unique_ptr<Transport>> GpuDevice::transport(World &world,
                                                          uint32_t ranks) {
  if (ranks == 1)
    return world.transport(ranks);
  return Status(ExitCode::device, "expects one rank on a GPU, got " +
                                      std::to_string(ranks) +
                                      "; give a mesh of one, or --device=cpu");
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

uint64_t GpuDevice::capacity() const {
  size_t free = 0, total = 0;
  if (!gpu->enter().ok() ||
      gpu->driver.cuMemGetInfo(&free, &total) != CUDA_SUCCESS)
    return 0;
  return free;
}

std::unique_ptr<Memory> GpuDevice::allocate(uint64_t bytes) {
  // The driver refuses to allocate nothing.
  const uint64_t size = std::max<uint64_t>(bytes, 1);
  CUdeviceptr place = 0;
  if (!gpu->enter().ok() ||
      gpu->driver.cuMemAlloc(&place, size) != CUDA_SUCCESS)
    return nullptr;
  return std::make_unique<GpuMemory>(gpu, place, bytes);
}

std::unique_ptr<Device> cuda::makeDevice(std::shared_ptr<Gpu> gpu) {
  return std::make_unique<GpuDevice>(std::move(gpu));
}
