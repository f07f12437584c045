//===- OpenBlasProduct.cpp - a matrix product by OpenBLAS -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "MatrixProduct.h"
#include "OpenBlas.h"

using namespace pprt;
using namespace pprt::cpu;

namespace {

class OpenBlasProduct final : public MatrixProduct {
public:
  OpenBlasProduct(const OpenBlas &library, const ProductShape &shape)
      : library(library), shape(shape) {}

  void run(const void *lhs, const void *rhs, void *out,
           std::byte *) const override {
    if (shape.element == ppx::ElementType_f64)
      multiply<double>(library.dgemm, lhs, rhs, out);
    else
      multiply<float>(library.sgemm, lhs, rhs, out);
  }
  uint64_t scratchpadBytes() const override { return 0; }

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

const MatrixLibrary cpu::kOpenBlas = {create, /*wantsDense=*/false};
