//===- Boxes.h - parts of dense tensors -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Tensors are row-major, and so are boxes of them that are stored alone.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_BOXES_H
#define PPRT_HOST_BOXES_H

#include "pprt/Initialize.h"

namespace pprt::host {

/// Part of a dense tensor: `size` indices from `first` on in each dimension.
struct Box {
  std::vector<uint64_t> first, size;

  uint64_t elements() const {
    uint64_t count = 1;
    for (uint64_t each : size)
      count *= each;
    return count;
  }
};

/// Whether two boxes of a tensor have an element in common.
bool overlaps(const Box &a, const Box &b);

/// Returns the box that the runs of a shard of a tensor of this shape cover.
Box boxOf(const std::vector<uint64_t> &shape,
          const std::vector<ElementRun> &runs);

/// Returns the runs of a box of a tensor of this shape, stored at `values`.
std::vector<ElementRun> runsOf(const std::vector<uint64_t> &shape,
                               const Box &box, uint64_t width,
                               std::byte *values);

} // namespace pprt::host

#endif // PPRT_HOST_BOXES_H
