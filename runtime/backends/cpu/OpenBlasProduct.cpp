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
  uint64_t scratchpadBytes() const override {
    return rulesOf(ppx::MatrixLibrary_openblas).scratchpadBytes(shape);
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

std::unique_ptr<MatrixProduct> cpu::createOpenBlas(const ProductShape &shape) {
  const Expected<OpenBlas> &library = openBlas();
  return library ? std::make_unique<OpenBlasProduct>(*library, shape) : nullptr;
}
