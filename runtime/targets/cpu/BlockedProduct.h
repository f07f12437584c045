//===- BlockedProduct.h - a contraction as blocks of products ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: ppx.Contraction, and who multiplies which type. Out: the products that
// the library is asked for, how their operands reach it, and the memory that
// this takes. Nothing here computes: a compiler plans contractions by it, and
// the device of processors runs them as planned (backends/cpu/Contraction.cpp).
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

/// A view, the parameter it lies in, and its type.
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
  /// As the library sees a block.
  FactorLayout layout(Range rows, Range columns) const;
};

struct BlockedProduct {
  BlockedProduct(const ppx::ContractionT &contraction, Way way);

  /// Whether the library is only asked for what it takes, by its rules.
  bool isTaken() const;

  /// The product of one block, by some of its steps; those after the first are
  /// added to what is there.
  ProductShape shape(Range rows, Range columns, Range steps) const;
  /// Blocks have one of two sizes along each dimension, so there are at most so
  /// many products, and these are their indices.
  static constexpr size_t kMostProducts = 16;
  size_t indexOf(Range rows, Range columns, Range steps) const;
  /// Calls `visit` with all of them, each at least once, until it says false.
  bool forEachProduct(
      const std::function<bool(size_t index, const ProductShape &)> &visit)
      const;

  /// How far apart rows of sums are, in the result or in scratch memory.
  uint64_t outLeading(Range columns) const;
  /// Of a block's scratch memory: what is loaded, and sums that are not in the
  /// result.
  uint64_t blockBytes() const;
  /// How many blocks `threads` threads compute at the same time.
  unsigned parts(unsigned threads) const {
    return blocking.isShared ? threads : 1;
  }
  /// At most, by the library's rules.
  uint64_t workspaceBytes(unsigned threads) const;

  Way way;
  /// What is computed in: f64 in f64, else f32.
  ppx::ElementType sumElement;
  std::vector<uint64_t> batch;
  uint64_t items = 1;
  double alpha;
  bool accumulate;
  Factor lhs, rhs;
  Operand out;
  /// Results are rows: of one that lies in columns, all is transposed.
  bool isTransposed = false;
  Blocking blocking;
  /// Of one block, in scratch memory.
  uint64_t lhsElements, rhsElements, outElements;
};

/// Scratch memory is handed out in cache lines.
inline uint64_t alignScratch(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

} // namespace pprt::cpu

#endif // PPRT_TARGETS_CPU_BLOCKEDPRODUCT_H
