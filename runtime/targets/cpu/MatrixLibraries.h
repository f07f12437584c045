//===- MatrixLibraries.h - rules of libraries for products ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the shape of a product and the layout of its operands. Out: whether a
// library takes it, in which blocks, and with how much memory. These are rules:
// planning a contraction needs neither the library nor the processor.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_TARGETS_CPU_MATRIXLIBRARIES_H
#define PPRT_TARGETS_CPU_MATRIXLIBRARIES_H

#include "Blocking.h"
#include "pprt/Ppx.h"

#include <vector>

namespace pprt::cpu {

/// A matrix of rows with unit stride, or of columns if `transposed`, that are
/// `leading` elements apart.
struct FactorLayout {
  bool transposed = false;
  uint64_t leading = 1;
};

/// out = alpha * lhs * rhs, or out += that if `add`. `lhs` is rows x steps,
/// `rhs` is steps x columns, of type `element`; `out` has rows of f64 if
/// `element` is f64, else of f32.
struct ProductShape {
  ppx::ElementType element = ppx::ElementType_f32;
  uint64_t rows = 0, columns = 0, steps = 0;
  FactorLayout lhs, rhs;
  uint64_t outLeading = 1;
  double alpha = 1;
  bool add = false;
};

struct MatrixLibraryRules {
  /// Sizes that a call should have.
  BlockLimits limits;
  /// Whether the library has the product on every processor that may run it,
  /// except where Way::isCertain is false.
  bool (*takes)(const ProductShape &shape);
  /// Upper bound of a call's scratchpad, on one thread.
  uint64_t (*scratchpadBytes)(const ProductShape &shape);
};

/// Rules of any library except `any`.
const MatrixLibraryRules &rulesOf(ppx::MatrixLibrary library);

/// A library and the type that it multiplies.
struct Way {
  ppx::MatrixLibrary library;
  ppx::ElementType multiplied;
  /// Whether every processor that runs the contraction has it.
  bool isCertain = true;
};

/// The fastest way first, as benchmarks/README.md has them, then ways that need
/// less of the processor. The last one is certain.
std::vector<Way> waysFor(const ppx::ContractionT &contraction, bool avx512);

} // namespace pprt::cpu

#endif // PPRT_TARGETS_CPU_MATRIXLIBRARIES_H
