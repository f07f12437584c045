//===- Boxes.cpp - parts of dense tensors ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Boxes.h"

#include <algorithm>

using namespace pprt::host;

bool pprt::host::overlaps(const Box &a, const Box &b) {
  bool doOverlap = true;
  for (size_t d = 0; d < a.size.size(); ++d)
    doOverlap &= a.first[d] < b.first[d] + b.size[d] &&
                 b.first[d] < a.first[d] + a.size[d];
  return doOverlap;
}

Box pprt::host::boxOf(const std::vector<uint64_t> &shape,
                      const std::vector<pprt::ElementRun> &runs) {
  Box box = {shape, std::vector<uint64_t>(shape.size())};
  std::vector<uint64_t> last(shape.size());
  for (const pprt::ElementRun &run : runs) {
    // If a run's ends differ in a dimension, it covers all of those behind it.
    uint64_t begin = run.first, end = run.first + run.count - 1;
    for (size_t d = shape.size(); d-- > 0; begin /= shape[d], end /= shape[d]) {
      const bool hasAll = begin / shape[d] != end / shape[d];
      box.first[d] = std::min(box.first[d], hasAll ? 0 : begin % shape[d]);
      last[d] = std::max(last[d], hasAll ? shape[d] - 1 : end % shape[d]);
    }
  }
  for (size_t d = 0; d < shape.size(); ++d)
    box.size[d] = last[d] + 1 - box.first[d];
  return box;
}

std::vector<pprt::ElementRun>
pprt::host::runsOf(const std::vector<uint64_t> &shape, const Box &box,
                   uint64_t width, std::byte *values) {
  std::vector<pprt::ElementRun> runs;
  std::vector<uint64_t> index(shape.size());
  const uint64_t row = box.size.empty() ? 1 : box.size.back();
  for (uint64_t left = box.elements() / row; left > 0; --left) {
    uint64_t first = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      first = first * shape[d] + box.first[d] + index[d];
    if (!runs.empty() && runs.back().first + runs.back().count == first)
      runs.back().count += row;
    else
      runs.push_back({first, row, values});
    values += row * width;
    for (size_t d = shape.size(); d-- > 1 && ++index[d - 1] == box.size[d - 1];)
      index[d - 1] = 0;
  }
  return runs;
}
