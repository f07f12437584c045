//===- Builtins.h - kernels that no artifact has ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels of the streams themselves, independent of compiled code: they check
// whether values are finite, and move them (Moves.h). Written as PTX, because
// the plugin is built without a compiler for GPUs.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_BUILTINS_H
#define PPRT_BACKENDS_CUDA_BUILTINS_H

#include "Gpu.h"

#include <initializer_list>
#include <string>
#include <utility>

namespace pprt::cuda {

/// Begin of a module.
constexpr char kBuiltinHead[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n";

/// Returns `text` with words replaced, and THREAD by code that computes a
/// thread's first element, %i, and the distance of the next one, %stride.
std::string
builtinText(std::string text,
            std::initializer_list<std::pair<const char *, std::string>> words);

/// Launches for `count` elements; does nothing for 0.
Status launchBuiltin(const Gpu &gpu, CUfunction function, CUstream stream,
                     uint64_t count, void **parameters);

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
  /// By the bits of an element.
  CUfunction flag16 = nullptr, flag32 = nullptr, flag64 = nullptr;
};

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_BUILTINS_H
