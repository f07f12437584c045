//===- Device.cpp - a GPU as a device -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel's entry takes the address of each parameter, that of the launch's
// scalars, and that of its gate, or null. All are in the device's memory. A
// contraction is cublasLt's, which has no gate: the host looks at it.
//
//===----------------------------------------------------------------------===//
#include "../cpu/Finite.h"
#include "Gpu.h"
#include "Products.h"
#include "pprt/Processor.h"
#include "pprt/World.h"

#include <algorithm>
#include <limits>

using namespace pprt;
using namespace pprt::cuda;

namespace {

struct GpuKernel final : Kernel {
  CUfunction function = nullptr;
  unsigned blocks = 0, threads = 0;
  /// Instead of a function, if it is a contraction.
  std::unique_ptr<const Product> product;
};

struct GpuLaunch final : Launch {
  explicit GpuLaunch(const Binding &binding)
      : kernel(static_cast<const GpuKernel &>(*binding.kernel)),
        gate(binding.gate) {
    for (const std::byte *argument : binding.arguments)
      values.push_back(pointer(argument));
    values.push_back(pointer(binding.scalars));
    values.push_back(pointer(binding.gate));
    for (CUdeviceptr &value : values)
      parameters.push_back(&value);
  }
  const GpuKernel &kernel;
  const std::byte *const gate;
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
  Status multiply(const GpuLaunch &launch);
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

  std::string name() const override {
    return gpu->driver.isEmulated ? "cuda (emulated)" : "cuda";
  }
  MemoryPool pool() const override;
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
  Expected<std::unique_ptr<const Product>>
  prepare(const ppx::ContractionT &contraction);

  const std::shared_ptr<Gpu> gpu;
  CUmodule code = nullptr;
  std::shared_ptr<const BlasHandle> blas; ///< from the first contraction on
};

} // namespace

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Status GpuDevice::load(const ppx::ArtifactT &artifact) {
  if (artifact.processor.empty() ||
      !runsOn(artifact.processor, gpu->processor()))
    return Status(ExitCode::device,
                  "expects kernels for " + gpu->processor() + " of '" +
                      gpu->name + "' or an older GPU, got those for '" +
                      artifact.processor + "'; compile with --targets=sm_80");
  if (artifact.object.empty())
    return {};
  if (Status status = gpu->enter(); !status.ok())
    return status;
  // The driver reads to a zero.
  const std::string text(artifact.object.begin(), artifact.object.end());
  if (Status status = gpu->driver.checkPtx(text); !status.ok())
    return status;
  return gpu->check(
      gpu->driver.cuModuleLoadDataEx(&code, text.c_str(), 0, nullptr, nullptr),
      "cuModuleLoadDataEx");
}

Expected<std::unique_ptr<const Product>>
GpuDevice::prepare(const ppx::ContractionT &contraction) {
  if (Status status = gpu->enter(); !status.ok())
    return status;
  if (!blas) {
    auto opened = BlasHandle::open(gpu);
    if (!opened)
      return opened.status();
    blas = std::move(*opened);
  }
  return Product::create(blas, contraction);
}

Expected<std::unique_ptr<const Kernel>>
GpuDevice::prepare(const ppx::KernelT &kernel) {
  const std::string where = "kernel '" + kernel.name + "': ";
  if (const ppx::ContractionT *contraction = kernel.body.AsContraction()) {
    Expected<std::unique_ptr<const Product>> product = prepare(*contraction);
    if (!product)
      return Status(product.status().code(),
                    where + product.status().message());
    auto result = std::make_unique<GpuKernel>();
    result->product = std::move(*product);
    return std::unique_ptr<const Kernel>(std::move(result));
  }
  const ppx::CompiledKernelT *body = kernel.body.AsCompiledKernel();
  if (!body)
    return Status(ExitCode::badArtifact,
                  where + "expects a compiled kernel or a contraction, got " +
                      std::to_string(kernel.body.type));
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
  if (task.kernel.product)
    return multiply(task);
  return finish(gpu->driver.cuLaunchKernel(
                    task.kernel.function, task.kernel.blocks, 1, 1,
                    task.kernel.threads, 1, 1, 0, stream,
                    const_cast<void **>(task.parameters.data()), nullptr),
                "cuLaunchKernel");
}

Status GpuStream::multiply(const GpuLaunch &launch) {
  int32_t gate = 0;
  Status status;
  if (launch.gate)
    status = gpu->read(&gate, launch.gate, sizeof(gate));
  if (!status.ok() || gate != 0)
    return status;
  status = launch.kernel.product->run(stream, launch.values);
  return status.ok() ? finish(CUDA_SUCCESS, "cublasLtMatmul") : status;
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

MemoryPool GpuDevice::pool() const {
  size_t free = 0, total = 0;
  if (!gpu->enter().ok() ||
      gpu->driver.cuMemGetInfo(&free, &total) != CUDA_SUCCESS)
    free = 0;
  return {gpu->id, "what is free of '" + gpu->name + "'", free};
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
