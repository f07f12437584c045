//===- OpenBlasProduct.cpp - a matrix product by OpenBLAS -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For f64, which oneDNN lacks, and wherever the plan or the processor's table
// names it. Assumes the layouts that Blocking makes: dense rows, a leading
// dimension.
//
//===----------------------------------------------------------------------===//
#include "MatrixProduct.h"
#include "OpenBlas.h"
#include "pprt/Lending.h"
#include "pprt/Program.h"

using namespace pprt;
using namespace pprt::cpu;

namespace {

class OpenBlasProduct final : public MatrixProduct {
public:
  OpenBlasProduct(const OpenBlas &library, const ProductShape &shape)
      : library(library), shape(shape) {}

  void run(const void *lhs, const void *rhs, void *out,
           std::byte *scratchpad) const override {
    const Lending scope(scratchpad, scratchpadBytes(), /*smallest=*/0);
    const ProductTurn turn;
    if (shape.element == ppx::ElementType_f64)
      multiply<double>(library.dgemm, lhs, rhs, out);
    else
      multiply<float>(library.sgemm, lhs, rhs, out);
  }
  /// Large products are packed into buffers that the library keeps. On
  /// processors with AVX-512, small ones have some columns packed into memory
  /// that it allocates in every call.
  uint64_t scratchpadBytes() const override {
    constexpr uint64_t small = 1000000, columns = 32;
    if (shape.lhs.transposed || shape.rhs.transposed ||
        shape.rows * shape.columns * shape.steps > small)
      return 0;
    return 64 + columns * shape.steps * elementSize(shape.element);
  }

private:
  template <typename T, typename Function>
  void multiply(Function *gemm, const void *lhs, const void *rhs,
                void *out) const {
    const auto order = [](const FactorLayout &factor) {
      return factor.transposed ? CblasTrans : CblasNoTrans;
    };
    gemm(CblasRowMajor, order(shape.lhs), order(shape.rhs), blasint(shape.rows),
         blasint(shape.columns), blasint(shape.steps), T(shape.alpha),
         static_cast<const T *>(lhs), blasint(shape.lhs.leading),
         static_cast<const T *>(rhs), blasint(shape.rhs.leading),
         T(shape.add ? 1 : 0), static_cast<T *>(out),
         blasint(shape.outLeading));
  }

  const OpenBlas library;
  const ProductShape shape;
};

} // namespace

static std::unique_ptr<MatrixProduct> create(const ProductShape &shape) {
  if (shape.element != ppx::ElementType_f32 &&
      shape.element != ppx::ElementType_f64)
    return nullptr;
  const Expected<OpenBlas> &library = openBlas();
  return library ? std::make_unique<OpenBlasProduct>(*library, shape) : nullptr;
}

const MatrixLibrary cpu::kOpenBlas = {create, {/*rows=*/512, /*columns=*/512}};
