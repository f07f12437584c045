//===- Measurements.h - what was measured of ranks and devices --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Measurements in the process that makes them, and as bytes for another one.
// Both have the same program, so the number of instructions is known.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_MEASUREMENTS_H
#define PPRT_ENGINE_MEASUREMENTS_H

#include "enqueued/MemoryNeeds.h"
#include "pprt/Execution.h"
#include "pprt/Program.h"

#include <cstddef>

namespace pprt {

/// Data of one device. Copied bytewise between processes, which have one build.
struct DeviceMeasurements {
  RankRange ranks;
  int64_t timesError = 0; ///< of the body (Executor::timesError())
  unsigned stepsAhead = 1;
  bool isRecorded = false;
  bool tellsMemory = false; ///< whether these two are set
  enqueued::MemoryNeeds needs;
  enqueued::MemoryReadings readings;
};

void pack(const std::vector<DeviceMeasurements> &devices,
          std::vector<std::byte> &bytes);
/// Returns the end of the unpacked bytes.
const std::byte *unpack(const std::byte *bytes,
                        std::vector<DeviceMeasurements> &devices);

struct Measurements {
  /// By section and instruction; empty if unknown.
  std::vector<InstructionTime> times[kSections.size()];
  uint64_t peakBytes = 0, allocationCount = 0;

  void pack(std::vector<std::byte> &bytes) const;
  /// Returns the end of the unpacked bytes.
  const std::byte *unpack(const ppx::ProgramT &program, const std::byte *bytes);
};

} // namespace pprt

#endif // PPRT_ENGINE_MEASUREMENTS_H
