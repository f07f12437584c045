//===- PatchMatrix.cpp - a matrix whose elements lie in windows -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "PatchMatrix.h"

using namespace pprt;
using namespace pprt::cpu;

PatchMatrix::PatchMatrix(const ppx::MatrixViewT &view, uint64_t numRows,
                         uint64_t numColumns) {
  for (const std::unique_ptr<ppx::WindowT> &window : view.windows)
    windows.push_back(
        {window->size, window->stride, window->offset, window->divisor});
  const auto loopsOf =
      [&](const std::vector<std::unique_ptr<ppx::ViewLoopT>> &given,
          uint64_t extent, uint64_t stride) {
        std::vector<PatchLoop> loops;
        for (const std::unique_ptr<ppx::ViewLoopT> &loop : given)
          loops.push_back(
              {loop->extent, loop->stride, loop->window, loop->step});
        if (loops.empty())
          loops.push_back({extent, stride, -1, 0});
        return loops;
      };
  rows = loopsOf(view.rows, numRows, view.row_stride);
  columns = loopsOf(view.columns, numColumns, view.column_stride);
}

uint64_t PatchMatrix::rowOffset(uint64_t row) const {
  uint64_t offset = 0;
  for (size_t i = rows.size(); i-- > 0; row /= rows[i].extent)
    offset += row % rows[i].extent * rows[i].stride;
  return offset;
}
