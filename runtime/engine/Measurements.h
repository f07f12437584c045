//===- Measurements.h - what was measured of ranks and devices --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In the process that runs them, and as bytes for another. Both have the
// same program: how many instructions there are is known.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_MEASUREMENTS_H
#define PPRT_ENGINE_MEASUREMENTS_H

#include "enqueued/MemoryNeeds.h"
#include "pprt/Execution.h"
#include "pprt/Program.h"

#include <cstddef>

namespace pprt {

/// Of one device. Copied as it is between processes, which are of one build.
struct DeviceMeasurements {
  RankRange ranks;
  int64_t timesError = 0; ///< of the body (Executor::timesError())
  unsigned stepsAhead = 1;
  bool isRecorded = false;
  bool tellsMemory = false; ///< whether there is something in these two
  enqueued::MemoryNeeds needs;
  enqueued::MemoryReadings readings;
};

void pack(const std::vector<DeviceMeasurements> &devices,
          std::vector<std::byte> &bytes);
/// Returns what follows.
const std::byte *unpack(const std::byte *bytes,
                        std::vector<DeviceMeasurements> &devices);

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
