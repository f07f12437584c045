//===- Rows.cpp - some rows of a batch ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Rows.h"

#include <algorithm>

using namespace pprt;

void Rows::add(RowRange range) {
  if (range.begin >= range.end)
    return;
  // Merges the new range with those that touch it.
  const auto first =
      std::find_if(its.begin(), its.end(), [&](const RowRange &other) {
        return other.end >= range.begin;
      });
  auto last = first;
  for (; last != its.end() && last->begin <= range.end; ++last) {
    range.begin = std::min(range.begin, last->begin);
    range.end = std::max(range.end, last->end);
  }
  its.insert(its.erase(first, last), range);
}

uint64_t Rows::count() const {
  uint64_t count = 0;
  for (const RowRange &range : its)
    count += range.size();
  return count;
}

bool Rows::contains(const Rows &others) const {
  return std::all_of(
      others.its.begin(), others.its.end(), [&](const RowRange &other) {
        return std::any_of(its.begin(), its.end(), [&](const RowRange &range) {
          return range.begin <= other.begin && other.end <= range.end;
        });
      });
}

uint64_t Rows::skippedBefore(uint64_t row) const {
  uint64_t skipped = row;
  for (const RowRange &range : its)
    if (range.begin < row)
      skipped -= std::min(range.end, row) - range.begin;
  return skipped;
}

BatchLayout::BatchLayout(const std::vector<uint64_t> &shape, int32_t batch) {
  for (size_t d = 0; d < shape.size(); ++d)
    (int64_t(d) == batch                ? rows
     : batch >= 0 && int64_t(d) < batch ? outer
                                        : inner) *= shape[d];
}

std::string Rows::print() const {
  std::string text;
  for (const RowRange &range : its)
    text += (text.empty() ? "" : ", ") + std::to_string(range.begin) + " to " +
            std::to_string(range.end);
  return text.empty() ? "none" : text;
}
