//===- Measurements.h - what was measured of one rank -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In the process that runs the rank, and as bytes for another. Both have the
// same program: how many instructions there are is known.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_MEASUREMENTS_H
#define PPRT_ENGINE_MEASUREMENTS_H

#include "pprt/Execution.h"
#include "pprt/Program.h"

#include <cstddef>

namespace pprt {

struct Measurements {
  /// By section and instruction; empty if nothing is known.
  std::vector<InstructionTime> times[kSections.size()];
  uint64_t peakBytes = 0, allocationCount = 0;

  void pack(std::vector<std::byte> &bytes) const;
  /// Returns what follows.
  const std::byte *unpack(const ppx::ProgramT &program, const std::byte *bytes);
};

} // namespace pprt

#endif // PPRT_ENGINE_MEASUREMENTS_H
