//===- Task.h - an instruction with all it needs resolved -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an instruction, and the memory of the rank that runs it. Out: the
// addresses of its slots, and the launch that its device has bound, so that an
// executor looks nothing up in a step.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_TASK_H
#define PPRT_ENGINE_TASK_H

#include "ScalarRows.h"

namespace pprt {

/// Indexed by the artifact's kernels.
using Kernels = std::vector<std::unique_ptr<const Kernel>>;

Expected<Kernels> prepareKernels(const ppx::ArtifactT &artifact,
                                 Device &device);

struct Task {
  Task(const Instruction &instruction, std::byte *arena,
       const ScalarRows &scalars, const Kernels &kernels, Device &device);

  /// Executes a run, gate, copy or flag; streams have no other instructions.
  Status give(Stream &stream) const;
  /// Bytes of the slot that is copied, loaded or emitted.
  uint64_t bytes() const;
  /// For communication, the number of arguments that are inputs: they come
  /// before the outputs, and a transfer has one of the two.
  size_t inputCount() const;

  Instruction instruction;
  std::vector<std::byte *> arguments;
  std::unique_ptr<const Launch> launch; ///< of run and gate
  std::vector<Values> values;           ///< of flag
};

} // namespace pprt

#endif // PPRT_ENGINE_TASK_H
