//===- MoveTable.h - what a kernel of moves reads ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A comm op between ranks of one device is a kernel for each of its moves,
// which reads a table of addresses in the device's memory; a move of one run is
// a copy without a table.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_ENQUEUED_MOVETABLE_H
#define PPRT_ENGINE_ENQUEUED_MOVETABLE_H

#include "pprt/CommOps.h"

namespace pprt::enqueued {

/// Whether a move from this many sources is a copy.
inline bool isCopy(const Region &region, size_t sources) {
  return sources == 1 && region.outer == 1 && region.middle == 1;
}

/// Words in front of the addresses: the region, and the numbers of addresses.
inline constexpr uint64_t kTableWords = 9;

/// 0 for a copy.
inline uint64_t tableBytes(const Region &region, size_t sources,
                           size_t targets) {
  return isCopy(region, sources)
             ? 0
             : (kTableWords + sources + targets) * sizeof(uint64_t);
}

} // namespace pprt::enqueued

#endif // PPRT_ENGINE_ENQUEUED_MOVETABLE_H
