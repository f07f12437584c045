//===- Pack.h - strided regions as plain runs of elements -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A region counts its elements in order: outer, middle, run. A stretch of them
// is contiguous if a side's strides say so, else it is packed into contiguous
// memory. No derived types of MPI: the memory stays ours.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_PACK_H
#define PPRT_COLLECTIVES_MPI_PACK_H

#include "pprt/CommOps.h"

#include <cstddef>

namespace pprt::mpi {

/// Elements `begin` to `begin + count` of a region, as one side lays them out.
struct Stretch {
  uint64_t middle, run, outerStride, middleStride; ///< elements
  uint64_t begin, count;
  uint64_t width; ///< bytes of an element

  static Stretch ofSource(const Region &region, uint64_t width, uint64_t begin,
                          uint64_t count);
  static Stretch ofTarget(const Region &region, uint64_t width, uint64_t begin,
                          uint64_t count);
};

uint64_t elementCount(const Region &region);

/// Whether all of the region's elements are contiguous in memory.
bool isDenseSource(const Region &region);
bool isDenseTarget(const Region &region);

/// `base` is the address of the region's first element.
void pack(const Stretch &stretch, const std::byte *base, std::byte *packed);
void unpack(const Stretch &stretch, const std::byte *packed, std::byte *base);

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_PACK_H
