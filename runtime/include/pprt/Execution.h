//===- Execution.h - what an execution takes and tells ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_EXECUTION_H
#define PPRT_EXECUTION_H

#include <cstdint>
#include <functional>
#include <string>

namespace pprt {

/// The ABI of CompiledKernel in ppx.fbs.
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

/// The kinds of the report's communication table.
enum class CommunicationKind : uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  permute,
  send,
  recv,
  host_copy
};
constexpr unsigned kCommunicationKinds = 8;
const char *communicationName(CommunicationKind kind);

struct Communication {
  uint64_t count = 0;
  uint64_t bytes = 0;     ///< the size as nccl-tests counts it
  uint64_t wireBytes = 0; ///< sent by this rank by the best known algorithm
};

} // namespace pprt

#endif // PPRT_EXECUTION_H
