//===- Builtins.h - kernels that no artifact has ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What streams do themselves, whatever is compiled: they look whether values
// are finite. Written as PTX, for the plugin is compiled without a compiler for
// GPUs.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_BUILTINS_H
#define PPRT_BACKENDS_CUDA_BUILTINS_H

#include "Gpu.h"

namespace pprt::cuda {

class Builtins {
public:
  static Expected<std::unique_ptr<const Builtins>>
  load(std::shared_ptr<const Gpu> gpu);
  ~Builtins();

  /// Sets the i32 to 1 if an element is infinite or NaN, else leaves it.
  Status flag(CUstream stream, const Values &values, std::byte *flag) const;

private:
  explicit Builtins(std::shared_ptr<const Gpu> gpu) : gpu(std::move(gpu)) {}

  const std::shared_ptr<const Gpu> gpu;
  CUmodule code = nullptr;
  /// By the bytes of an element.
  CUfunction flag16 = nullptr, flag32 = nullptr, flag64 = nullptr;
};

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_BUILTINS_H
