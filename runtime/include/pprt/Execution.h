//===- Execution.h - types of sessions and backends -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Types that sessions and backends share without each other's headers.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_EXECUTION_H
#define PPRT_EXECUTION_H

#include <cstdint>
#include <functional>
#include <string>

#pragma GCC visibility push(default)
namespace pprt {

/// ABI of CompiledKernel in ppx.fbs.
using CompiledFunction = void (*)(void *const *arguments,
                                  const int64_t *scalars, int64_t begin,
                                  int64_t end);

/// Finds a compiled kernel by its symbol; null if there is none.
using KernelResolver = std::function<void *(const std::string &symbol)>;

/// When one instruction ran, in nanoseconds of the monotonic clock.
/// Communication begins when its rank was ready for it and ends when it was
/// complete. `cpu` is the processor time that its rank's thread spent on it.
struct InstructionTime {
  int64_t begin = 0, end = 0, cpu = 0;
};

/// A counter of a device.
struct NamedCount {
  std::string name;
  uint64_t value = 0;
};

/// A product whose epilogues a device's library has refused: it is computed
/// without them, and a kernel behind it computes them.
struct UnfusedProduct {
  std::string kernel;
  std::string reason; ///< the library's message
};

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_EXECUTION_H
