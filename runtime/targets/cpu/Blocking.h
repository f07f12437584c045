//===- Blocking.h - how a matrix product is cut into blocks -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the sizes of a product, the strides of its matrices and a library's
// limits. Out: blocks of the result, and which operands the library reads in
// place. Nothing depends on the number of threads: the library rounds
// differently at the edges of its operands, so this makes the bits of a result
// the same on any number of them.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_TARGETS_CPU_BLOCKING_H
#define PPRT_TARGETS_CPU_BLOCKING_H

#include <algorithm>
#include <cstdint>

namespace pprt::cpu {

struct Range {
  uint64_t begin, end;
  uint64_t size() const { return end - begin; }
};

/// A dimension and its blocks, which are equal except for the last.
struct Cut {
  uint64_t size = 0, block = 1;

  bool isWhole() const { return block >= size; }
  /// At least one: an empty sum is zero.
  uint64_t count() const {
    return std::max<uint64_t>(1, (size + block - 1) / block);
  }
  Range at(uint64_t index) const {
    return {index * block, std::min(size, (index + 1) * block)};
  }
};

/// In elements.
struct Strides {
  uint64_t row = 0, column = 0;
};

/// A factor that is loaded into scratch memory keeps its order.
struct FactorPlacement {
  bool inPlace = false, transposed = false;
};

/// Limits of a library's call. Measured as benchmarks/README.md describes.
struct BlockLimits {
  /// Largest block of the result.
  uint64_t rows, columns;
  /// For a library that takes only dense matrices: columns up to which it gets
  /// all of them. 0: it takes gaps.
  uint64_t wholeColumns = 0;
  /// Steps of a left factor that lies in columns; 0: all of them.
  uint64_t stepsOfColumns = 0;
};

/// The product to compute, `items` times: rows x steps by steps x columns.
struct BlockingProblem {
  uint64_t items, rows, columns, steps;
  Strides lhs, rhs, out;
  /// Whether the library can read a factor in place, and keep sums in the
  /// memory of the result.
  bool mayReadLhs, mayReadRhs, mayWrite;
  BlockLimits limits;
  /// Consecutive steps of rhs that are a stride apart, if not all are; else 0.
  uint64_t stepsAlike = 0;
};

struct Blocking {
  Cut rows, columns, steps;
  FactorPlacement lhs, rhs;
  bool outInPlace = false;
  /// Whether a team is worth its fork.
  bool isShared = false;

  static Blocking choose(const BlockingProblem &problem);
};

} // namespace pprt::cpu

#endif // PPRT_TARGETS_CPU_BLOCKING_H
