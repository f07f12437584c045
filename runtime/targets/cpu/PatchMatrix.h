//===- PatchMatrix.h - a matrix whose elements lie in windows ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Rows and columns of a factor may each be several loops over its tensor, some
// of which move along windows: for example the patches of an image as rows. No
// library reads such a matrix in place, so blocks of it are loaded.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_TARGETS_CPU_PATCHMATRIX_H
#define PPRT_TARGETS_CPU_PATCHMATRIX_H

#include "Blocking.h"
#include "pprt/Ppx.h"

#include <utility>
#include <vector>

namespace pprt::cpu {

/// One of the loops that make up the rows or the columns of a matrix: either it
/// goes through elements `stride` apart, or it moves along a window. `stride`
/// is then unused.
struct PatchLoop {
  uint64_t extent, stride;
  int32_t window; ///< -1: none
  int64_t step;
};

/// The loops that move along a window add up to a coordinate, from `offset` on.
/// If it is divisible and the quotient below `size`, the quotient steps by
/// `stride`; elsewhere there are zeros.
struct PatchWindow {
  uint64_t size, stride;
  int64_t offset;
  uint64_t divisor;
};

struct PatchMatrix {
  PatchMatrix(const ppx::MatrixViewT &view, uint64_t rows, uint64_t columns);

  /// Whether the view is no plain matrix: it has several loops, or windows.
  static bool isNeededFor(const ppx::MatrixViewT &view) {
    return !view.rows.empty() || !view.columns.empty();
  }

  void transpose() { std::swap(rows, columns); }

  /// Strides of the innermost loops.
  Strides strides() const {
    return {rows.back().stride, columns.back().stride};
  }

  /// Rows of a block that are all one stride apart, if no windows slide.
  uint64_t rowsAlike() const {
    return windows.empty() && columns.size() == 1 ? rows.back().extent : 0;
  }
  /// Offset of row `row`, if no windows slide.
  uint64_t rowOffset(uint64_t row) const;

  std::vector<PatchLoop> rows, columns; ///< major to minor
  std::vector<PatchWindow> windows;
};

} // namespace pprt::cpu

#endif // PPRT_TARGETS_CPU_PATCHMATRIX_H
