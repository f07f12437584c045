//===- MemoryNeeds.h - device memory of a run, by name ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a program, and the ranks on a GPU. Out: the device and host memory that
// the engine will allocate for them, to the byte. The driver and NCCL take
// more, of undocumented size. Nothing here needs CUDA.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_ENQUEUED_MEMORYNEEDS_H
#define PPRT_ENGINE_ENQUEUED_MEMORYNEEDS_H

#include "pprt/DeviceMemory.h"
#include "pprt/Ranks.h"

namespace pprt {
struct Backend;
}

namespace pprt::enqueued {

/// Bytes needed for one GPU.
struct MemoryNeeds {
  uint64_t arenas = 0; ///< with the staging behind them
  uint64_t scalars = 0;
  uint64_t tables = 0;     ///< of comm ops between ranks on the GPU
  uint64_t products = 0;   ///< tables of their launches
  uint64_t workspace = 0;  ///< the largest library workspace, in the arenas
  uint64_t pinned = 0;     ///< host memory for one step under way
  uint64_t code = 0;       ///< bytes of PTX; 0 if not compiled yet
  bool hasKernels = false; ///< whether there are PTX kernels
  bool usesNccl = false;   ///< whether ranks meet others elsewhere

  uint64_t allocated() const { return arenas + scalars + tables + products; }
};

/// Needs of such a device with those ranks; `arenas` are the bytes of each.
MemoryNeeds findNeeds(const Ranks &ranks, RankRange range,
                      const std::vector<uint64_t> &arenas,
                      const Backend &backend);

/// Bytes that a value takes in the memory shared by host and device during a
/// step, where loads, emits and rows of scalars follow each other: whole cache
/// lines.
inline uint64_t hostPlace(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Memory in use by all processes, as the driver says; nothing if not asked.
struct MemoryReadings {
  std::optional<uint64_t> opened;    ///< after making the context
  std::optional<uint64_t> loaded;    ///< after loading the code
  std::optional<uint64_t> prepared;  ///< after the engine's allocations
  std::optional<uint64_t> connected; ///< after connecting NCCL
  std::optional<uint64_t> now;
};

/// Recorded bodies that may be under way: one runs, the next one waits.
constexpr unsigned kStepsAhead = 2;

/// `stepsAhead` bodies may be under way, each of which is recorded if any is.
DeviceMemory describeMemory(const MemoryNeeds &needs, RankRange range,
                            unsigned stepsAhead, bool isCaptured,
                            const MemoryReadings &readings);

} // namespace pprt::enqueued

#endif // PPRT_ENGINE_ENQUEUED_MEMORYNEEDS_H
