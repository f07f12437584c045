//===- MatrixProduct.h - one matrix product by a library --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the shape of a product and how its operands lie in memory. Out: an object
// that computes it on the calling thread, with no memory but its caller's: what
// a library allocates inside of a call is lent to it out of the scratchpad. The
// bits of the result depend on the shape, not on timing.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_MATRIXPRODUCT_H
#define PPRT_BACKENDS_CPU_MATRIXPRODUCT_H

#include "Blocking.h"
#include "pprt/Ppx.h"
#include "pprt/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>

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

class MatrixProduct {
public:
  virtual ~MatrixProduct() = default;

  /// `scratchpad` is aligned to 64 bytes.
  virtual void run(const void *lhs, const void *rhs, void *out,
                   std::byte *scratchpad) const = 0;
  virtual uint64_t scratchpadBytes() const = 0;
};

struct MatrixLibrary {
  /// Null for a product that the library does not have.
  std::unique_ptr<MatrixProduct> (*create)(const ProductShape &shape);
  /// What it wants to be given at a time.
  BlockLimits limits;
};

/// f32, and bf16 on processors that multiply it, where AVX-512 is; no gaps.
extern const MatrixLibrary kOneDnnMatmul;
/// f32.
extern const MatrixLibrary kOneDnnGemm;
/// Has what it generates once at its first product, before one is computed.
/// Fails (outOfMemory).
Status generateGemm();
/// f32 and f64.
extern const MatrixLibrary kOpenBlas;

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_MATRIXPRODUCT_H
