//===- Rows.h - some rows of a batch ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A row is an index of the batch dimension, which is the first one or, in a
// time-major input, another. The ranks of one process load scattered rows when
// the batch is cut into micro-batches before it is spread over ranks: with two
// of each, rank 0 loads the first and the third quarter. Buffers with some rows
// of a batch hold them packed, in ascending order: dense tensors whose batch is
// these rows alone. An input without a batch is one row.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ROWS_H
#define PPRT_ROWS_H

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

/// Rows begin to end - 1.
struct RowRange {
  uint64_t begin = 0, end = 0;

  uint64_t size() const { return end - begin; }
};

class Rows {
public:
  Rows() = default;
  /// Rows begin to end - 1.
  Rows(uint64_t begin, uint64_t end) { add({begin, end}); }

  void add(RowRange range);

  /// Ascending; any two ranges have rows between them that are not included.
  const std::vector<RowRange> &ranges() const { return its; }
  uint64_t count() const;
  bool contains(const Rows &others) const;
  /// Number of rows before `row` that are not included: a row's index minus its
  /// place in a packed buffer.
  uint64_t skippedBefore(uint64_t row) const;

  /// Prints "0 to 4, 8 to 12", ends excluded; "none".
  std::string print() const;

private:
  std::vector<RowRange> its;
};

/// A dense input is `outer` times `rows` rows of `inner` elements.
struct BatchLayout {
  /// `batch`: the batch dimension; -1: none.
  BatchLayout(const std::vector<uint64_t> &shape, int32_t batch);

  /// Returns the number of elements of some of the rows, packed.
  uint64_t elementsOf(const Rows &some) const {
    return outer * some.count() * inner;
  }

  uint64_t outer = 1, rows = 1, inner = 1;
};

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_ROWS_H
