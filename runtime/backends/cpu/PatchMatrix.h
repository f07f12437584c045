//===- PatchMatrix.h - a matrix whose elements lie in windows ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Rows and columns of a factor may each be several loops over its tensor, some
// of which move along windows: the patches of an image as rows, say. No library
// reads such a matrix where it lies, so blocks of it are loaded.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_PATCHMATRIX_H
#define PPRT_BACKENDS_CPU_PATCHMATRIX_H

#include "Blocking.h"
#include "MatrixBlocks.h"

#include <vector>

namespace pprt::cpu {

class PatchMatrix {
public:
  PatchMatrix(const ppx::MatrixViewT &view, uint64_t rows, uint64_t columns);

  /// What is not a plain matrix: several loops, or windows.
  static bool isNeededFor(const ppx::MatrixViewT &view) {
    return !view.rows.empty() || !view.columns.empty();
  }

  void transpose() { std::swap(rows, columns); }

  /// Strides of the innermost loops.
  Strides strides() const {
    return {rows.back().stride, columns.back().stride};
  }

  /// Rows in a block of which all are one stride apart, if no windows slide.
  uint64_t rowsAlike() const {
    return windows.empty() && columns.size() == 1 ? rows.back().extent : 0;
  }
  /// Where row `row` begins, if no windows slide.
  uint64_t rowOffset(uint64_t row) const;

  /// to = the elements in `rowRange` and `columnRange`, transposed or not; of
  /// the tensor at `data`, which begins at the view's offset.
  template <typename T>
  void load(const std::byte *data, ppx::ElementType element, Range rowRange,
            Range columnRange, bool transposed, const Block<T> &to) const;

private:
  std::vector<PatchLoop> rows, columns; ///< major to minor
  std::vector<PatchWindow> windows;
};

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_PATCHMATRIX_H
