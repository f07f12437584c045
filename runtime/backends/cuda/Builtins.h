//===- Builtins.h - kernels that no artifact has ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What streams do themselves, whatever is compiled: they look whether values
// are finite, and move them (Moves.h). Written as PTX, for the plugin is
// compiled without a compiler for GPUs.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_BUILTINS_H
#define PPRT_BACKENDS_CUDA_BUILTINS_H

#include "Gpu.h"

#include <initializer_list>
#include <string>
#include <utility>

namespace pprt::cuda {

/// What a module begins with.
constexpr char kBuiltinHead[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n";

/// `text` with words replaced, and THREAD by what finds the first element of a
/// thread, %i, and how many elements later the next one is, %stride.
std::string
builtinText(std::string text,
            std::initializer_list<std::pair<const char *, std::string>> words);

/// For `count` elements; does nothing for none.
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
  /// By the bytes of an element.
  CUfunction flag16 = nullptr, flag32 = nullptr, flag64 = nullptr;
};

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_BUILTINS_H
