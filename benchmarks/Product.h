//===- Product.h - one matrix product of a step -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A contraction of an artifact, with operands of its own that lie as they do in
// a step, and the ways in which a library can compute it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_BENCHMARKS_PRODUCT_H
#define PP_BENCHMARKS_PRODUCT_H

#include "backends/cpu/Team.h"
#include "pprt/ppx_generated.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

/// A way to compute a product once, on all threads.
struct Form {
  std::string name;
  std::function<void()> run;
};

struct Matrix {
  float *data;
  uint64_t row, column; ///< strides
  std::vector<uint64_t> batch;

  bool isTransposed() const { return column != 1; }
  uint64_t leading() const { return isTransposed() ? column : row; }
};

/// `items` times: m x k by k x n, alpha times the sum.
struct Product {
  /// Assumes f32 and a result in rows.
  explicit Product(const pprt::ppx::ContractionT &contraction);

  double flops() const { return 2.0 * double(items * m * n) * double(k); }
  std::string name() const;
  /// The part of batch item `item`, from (row, column) on.
  float *at(const Matrix &matrix, uint64_t item, uint64_t row,
            uint64_t column) const;

  std::vector<uint64_t> batch;
  uint64_t items = 1, m, n, k;
  float alpha;
  Matrix lhs, rhs, out;

private:
  Matrix place(const pprt::ppx::MatrixViewT &view, uint64_t rows,
               uint64_t columns);
  std::vector<std::unique_ptr<float, void (*)(void *)>> memory;
};

/// pp's own. `contraction` is the product's, without epilogues.
Form ownForm(const Product &product, const pprt::ppx::ContractionT &contraction,
             pprt::cpu::Team &team);

/// What the libraries can do with the product as it lies, in any of their ways:
/// oneDNN's matmul and its sgemm, OpenBLAS, and MKL if `mkl` names a library;
/// with the threads of the library, or called by the team's, which share out
/// rows, columns or the batch.
std::vector<Form> libraryForms(const Product &product, pprt::cpu::Team &team,
                               const std::string &mkl);

#endif // PP_BENCHMARKS_PRODUCT_H
