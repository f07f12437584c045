//===- MemoryNeeds.h - what a run takes of a device, by name ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a program, and the ranks that a GPU has. Out: what of its memory, and of
// the host's, the engine will allocate for them, to the byte, and what the
// driver and NCCL take besides, of which no document says how much. Nothing
// here needs CUDA.
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

/// Of one GPU.
struct MemoryNeeds {
  uint64_t arenas = 0; ///< with the staging behind them
  uint64_t scalars = 0;
  uint64_t tables = 0;     ///< of comm ops of ranks that share it
  uint64_t products = 0;   ///< tables of theirs
  uint64_t workspace = 0;  ///< the most of a library's, in the arenas
  uint64_t pinned = 0;     ///< of the host, for one step under way
  uint64_t code = 0;       ///< bytes of PTX; 0 where there is none yet
  bool hasKernels = false; ///< whether there are kernels of PTX
  bool usesNccl = false;   ///< ranks meet others elsewhere

  uint64_t allocated() const { return arenas + scalars + tables + products; }
};

/// Of a device of that kind with those ranks; `arenas` are the bytes of each.
MemoryNeeds findNeeds(const Ranks &ranks, RankRange range,
                      const std::vector<uint64_t> &arenas,
                      const Backend &backend);

/// What a value of so many bytes takes of memory that the host and a device
/// share during a step, where loads, emits and rows of scalars lie one after
/// the other: whole cache lines.
inline uint64_t hostPlace(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// What the driver said was in use, by whoever: nothing where it was not asked.
struct MemoryReadings {
  std::optional<uint64_t> opened;    ///< when the context was there
  std::optional<uint64_t> loaded;    ///< and the code
  std::optional<uint64_t> prepared;  ///< and all that the engine allocates
  std::optional<uint64_t> connected; ///< and NCCL
  std::optional<uint64_t> now;
};

/// So many bodies may be under way if they are recorded: one that runs, and the
/// next.
constexpr unsigned kStepsAhead = 2;

/// `stepsAhead` bodies may be under way, of which each is recorded if any is.
DeviceMemory describeMemory(const MemoryNeeds &needs, RankRange range,
                            unsigned stepsAhead, bool isCaptured,
                            const MemoryReadings &readings);

} // namespace pprt::enqueued

#endif // PPRT_ENGINE_ENQUEUED_MEMORYNEEDS_H
