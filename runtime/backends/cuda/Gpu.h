//===- Gpu.h - one GPU of NVIDIA as a device --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the driver. Out: a Device whose streams run behind the host.
//
// A context is current on one thread at a time each: whoever comes from another
// thread enters it first.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_GPU_H
#define PPRT_BACKENDS_CUDA_GPU_H

#include "Library.h"
#include "Placement.h"
#include "pprt/StreamDevice.h"

#include <map>

namespace pprt::cuda {

/// The driver, and of one GPU what all that use it share.
class Gpu {
public:
  /// Those that the process sees, at least one, without a context on any: a GPU
  /// may be another process's alone.
  static Expected<std::vector<SeenGpu>> see(const Driver &driver);
  /// The one of that number among them.
  static Expected<std::shared_ptr<Gpu>> open(Driver driver, int ordinal = 0);
  ~Gpu();

  /// Makes the context the calling thread's.
  Status makeCurrent() const;
  /// A copy in either direction between the host and the device, at once.
  Status read(void *to, const std::byte *from, uint64_t bytes) const;
  Status write(std::byte *to, const void *from, uint64_t bytes) const;
  Status check(CUresult result, const char *call) const {
    return driver.check(result, call);
  }
  /// At least so many bytes, or which call failed and what is free (4).
  Expected<CUdeviceptr> allocate(uint64_t bytes) const;
  Expected<int> multiprocessors() const;
  /// Of the host: for what it copies, and tries before a run.
  CUstream ownStream() const { return copies; }
  /// Waits until nothing that it was given is at work, also after a failure.
  Status finish() const;

  Driver driver;
  SeenGpu seen;

private:
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream copies = nullptr;
};

/// By rank of this process, which each have their own; none if all ranks of the
/// run share one.
using GpusByRank = std::map<uint32_t, std::shared_ptr<const Gpu>>;

/// `all`: also those of the process's other devices. `nccl`: by which ranks
/// meet that are not on this one.
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
