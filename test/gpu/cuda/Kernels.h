//===- Kernels.h - code of kernels, and its execution -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What the stand-in asks of whatever runs PTX. A launch runs to its end at
// once: what is open among its threads is open inside.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUDA_KERNELS_H
#define PP_TEST_GPU_CUDA_KERNELS_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace standin {

class Memory;

struct KernelLaunch {
  std::string entry;
  uint32_t grid[3], block[3];
  uint32_t sharedBytes = 0;
  std::vector<std::byte> parameters;
  uint64_t seed = 0;
};

/// Of a launch: ranges of global memory.
struct KernelAccesses {
  std::vector<std::pair<uint64_t, uint64_t>> read, written;
};

struct Kernels {
  virtual ~Kernels() = default;
  virtual bool has(const std::string &entry) const = 0;
  /// Of its parameters, offset and size.
  virtual std::vector<std::pair<uint32_t, uint32_t>>
  getParameters(const std::string &entry) const = 0;
  /// Bytes of shared memory that the code itself declares.
  virtual uint32_t getSharedBytes(const std::string &entry) const = 0;
  /// False, and `error`, for the first fault.
  virtual bool run(const KernelLaunch &launch, Memory &memory,
                   KernelAccesses &accesses, std::string &error) const = 0;
};

/// Null, and `error`, for text that is not understood.
std::unique_ptr<Kernels> parseKernels(const std::string &text,
                                      std::string &error);

} // namespace standin

#endif // PP_TEST_GPU_CUDA_KERNELS_H
