//===- Gpu.h - one GPU of NVIDIA as a device --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the driver. Out: a Device whose streams run asynchronously to the host. A
// context must be made current on each thread that uses the device.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_GPU_H
#define PPRT_BACKENDS_CUDA_GPU_H

#include "Library.h"
#include "Placement.h"
#include "pprt/StreamDevice.h"

#include <map>

namespace pprt::cuda {

/// The driver, and the common state of all users of one GPU.
class Gpu {
public:
  /// Returns the GPUs that the process sees, at least one, without a context on
  /// any: a GPU may belong to another process alone.
  static Expected<std::vector<SeenGpu>> see(const Driver &driver);
  /// Opens the one with that number among them.
  static Expected<std::shared_ptr<Gpu>> open(Driver driver, int ordinal = 0);
  ~Gpu();

  /// Makes the context current on the calling thread.
  Status makeCurrent() const;
  /// Synchronous copies in either direction between the host and the device.
  Status read(void *to, const std::byte *from, uint64_t bytes) const;
  Status write(std::byte *to, const void *from, uint64_t bytes) const;
  Status check(CUresult result, const char *call) const {
    return driver.check(result, call);
  }
  /// At least that many bytes, or the failed call and the free memory (4).
  Expected<CUdeviceptr> allocate(uint64_t bytes) const;
  Expected<int> multiprocessors() const;
  /// Stream of the host, for its copies and for trials before a run.
  CUstream ownStream() const { return copies; }
  /// Waits until all work of that stream has ended, also after a failure.
  Status finish() const;

  Driver driver;
  SeenGpu seen;

private:
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream copies = nullptr;
};

/// By rank of this process, each with its own GPU; empty if all ranks of the
/// run share one.
using GpusByRank = std::map<uint32_t, std::shared_ptr<const Gpu>>;

/// `all`: also those of the process's other devices. `nccl`: for ranks that are
/// not on this one.
std::unique_ptr<enqueued::StreamDevice>
makeDevice(std::shared_ptr<Gpu> gpu, const GpusByRank &all = {},
           const std::shared_ptr<const Nccl> &nccl = nullptr);

/// Returns from the function if the driver refuses.
#define PP_TRY(gpu, call, ...)                                                 \
  if (Status status = (gpu).check((gpu).driver.call(__VA_ARGS__), #call);      \
      !status.ok())                                                            \
  return status

inline CUdeviceptr pointer(const std::byte *address) {
  return CUdeviceptr(reinterpret_cast<uintptr_t>(address));
}

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_GPU_H
