//===- BlockedProduct.h - a contraction as blocks of products ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: ppx.Contraction, and a library with the type it multiplies. Out: the
// calls of the library, how their operands reach it, and the memory that this
// takes. Nothing here computes: a compiler plans contractions with it, and the
// processor device runs them as planned (backends/cpu/Contraction.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_TARGETS_CPU_BLOCKEDPRODUCT_H
#define PPRT_TARGETS_CPU_BLOCKEDPRODUCT_H

#include "MatrixLibraries.h"
#include "PatchMatrix.h"

#include <functional>
#include <optional>
#include <vector>

namespace pprt::cpu {

/// A view, its kernel parameter, and its type.
struct Operand {
  uint32_t parameter = 0;
  ppx::ElementType element = ppx::ElementType_f32;
  uint64_t offset = 0;
  Strides strides;
  std::vector<uint64_t> batch;

  Operand() = default;
  Operand(uint32_t parameter, ppx::ElementType element,
          const ppx::MatrixViewT &view)
      : parameter(parameter), element(element), offset(view.offset),
        strides{view.row_stride, view.column_stride}, batch(view.batch) {}

  void transpose() { std::swap(strides.row, strides.column); }
};

/// An operand that is multiplied.
struct Factor : Operand {
  FactorPlacement placement;
  std::optional<PatchMatrix> patches; ///< if it is no plain matrix

  Factor(uint32_t parameter, ppx::ElementType element,
         const ppx::MatrixViewT &view, uint64_t rows, uint64_t columns);

  void transpose();
  /// Layout of a block as the library sees it.
  FactorLayout layout(Range rows, Range columns) const;
};

struct BlockedProduct {
  BlockedProduct(const ppx::ContractionT &contraction, Way way);

  /// Whether the library's rules take all of its products.
  bool isTaken() const;

  /// Returns the product of one block over some of its steps; those after the
  /// first are added to the sums so far.
  ProductShape shape(Range rows, Range columns, Range steps) const;
  /// Blocks have one of two sizes along each dimension, so this bounds the
  /// number of products; indexOf() numbers them.
  static constexpr size_t kMostProducts = 16;
  size_t indexOf(Range rows, Range columns, Range steps) const;
  /// Calls `visit` on each product at least once, until it returns false.
  bool forEachProduct(
      const std::function<bool(size_t index, const ProductShape &)> &visit)
      const;

  /// Elements between rows of sums, in the result or in scratch memory.
  uint64_t outLeading(Range columns) const;
  /// A block's scratch memory: the left factor, if it is loaded, the right one,
  /// and sums that are not in the result. Where they begin, and all their
  /// bytes.
  uint64_t rhsBegin() const;
  uint64_t outBegin() const;
  uint64_t blockBytes() const;
  /// Number of blocks that `threads` threads compute at the same time.
  unsigned parts(unsigned threads) const {
    return blocking.isShared ? threads : 1;
  }
  /// Upper bound by the library's rules.
  uint64_t workspaceBytes(unsigned threads) const;

  Way way;
  /// Type of the sums: f64 for f64, else f32.
  ppx::ElementType sumElement;
  std::vector<uint64_t> batch;
  uint64_t items = 1;
  double alpha;
  bool accumulate;
  Factor lhs, rhs;
  Operand out;
  /// Results have rows: if out has columns, everything is transposed.
  bool isTransposed = false;
  Blocking blocking;
  /// Sizes of one block in scratch memory.
  uint64_t lhsElements, rhsElements, outElements;
};

/// Scratch memory is handed out in cache lines.
inline uint64_t alignScratch(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

} // namespace pprt::cpu

#endif // PPRT_TARGETS_CPU_BLOCKEDPRODUCT_H
