//===- MatrixProduct.h - one matrix product by a library --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the shape of a product and the layout of its operands. Out: an object
// that computes it on the calling thread, using only its caller's memory: the
// scratchpad is lent to allocations inside of a library's call. The bits of the
// result depend on the shape, not on timing.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_MATRIXPRODUCT_H
#define PPRT_BACKENDS_CPU_MATRIXPRODUCT_H

#include "../../targets/cpu/MatrixLibraries.h"
#include "pprt/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace pprt::cpu {

class MatrixProduct {
public:
  virtual ~MatrixProduct() = default;

  /// `scratchpad` is aligned to 64 bytes.
  virtual void run(const void *lhs, const void *rhs, void *out,
                   std::byte *scratchpad) const = 0;
  virtual uint64_t scratchpadBytes() const = 0;
};

/// Returns null if the library does not have the product on this machine.
std::unique_ptr<MatrixProduct> createProduct(ppx::MatrixLibrary library,
                                             const ProductShape &shape);

// For each library; assumes that it takes the shape (rulesOf()).
std::unique_ptr<MatrixProduct> createOneDnnMatmul(const ProductShape &shape);
std::unique_ptr<MatrixProduct> createOneDnnGemm(const ProductShape &shape);
std::unique_ptr<MatrixProduct> createOpenBlas(const ProductShape &shape);

/// Makes the library generate its kernels, usually generated at the first
/// product, before one is computed. Fails (outOfMemory).
Status generateGemm();
} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_MATRIXPRODUCT_H
