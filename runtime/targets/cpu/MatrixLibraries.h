//===- MatrixLibraries.h - what libraries of products want ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the shape of a product and how its operands lie. Out: whether a library
// takes it, in which blocks, and with how much memory. These are rules: to plan
// a contraction takes no library and no processor that it will run on.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_TARGETS_CPU_MATRIXLIBRARIES_H
#define PPRT_TARGETS_CPU_MATRIXLIBRARIES_H

#include "Blocking.h"
#include "pprt/Ppx.h"

#include <vector>

namespace pprt::cpu {

/// A matrix of rows with unit stride, or of columns if `transposed`; `leading`
/// elements apart.
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
  /// What it wants to be given at a time.
  BlockLimits limits;
  /// Whether it has the product on every processor that may be asked for it;
  /// some of these may still lack it.
  bool (*takes)(const ProductShape &shape);
  /// What a call needs at most, on one thread.
  uint64_t (*scratchpadBytes)(const ProductShape &shape);
};

/// Of any library but `any`.
const MatrixLibraryRules &rulesOf(ppx::MatrixLibrary library);

/// A library and the type that it multiplies.
struct Way {
  ppx::MatrixLibrary library;
  ppx::ElementType multiplied;
  /// Whether every processor that runs the contraction has it.
  bool isCertain = true;
};

/// The fastest first, as benchmarks/README.md has them; then what needs less of
/// the processor. The last one is certain.
std::vector<Way> waysFor(const ppx::ContractionT &contraction, bool avx512);

} // namespace pprt::cpu

#endif // PPRT_TARGETS_CPU_MATRIXLIBRARIES_H
