//===- Product.h - one matrix product of a step -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A contraction of an artifact on operands laid out as in a step, and the ways
// to compute it: pp's, and those that libraries offer. The latter share no code
// with pp.
//
//===----------------------------------------------------------------------===//
#ifndef PP_BENCHMARKS_PRODUCT_H
#define PP_BENCHMARKS_PRODUCT_H

#include "backends/cpu/Team.h"
#include "pprt/Ppx.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

/// Elements are f32, or bf16 as bits.
struct Operands {
  char *lhs, *rhs, *out;
};

/// A way to compute a product once, on all threads.
struct Form {
  std::string name;
  std::function<void(const Operands &)> run;
};

struct Matrix {
  uint64_t row, column; ///< strides
  uint64_t width;       ///< bytes of an element
  uint64_t bytes;       ///< from the first element to the last
  std::vector<uint64_t> batch;

  bool isTransposed() const { return column != 1; }
  uint64_t leading() const { return isTransposed() ? column : row; }
};

/// `items` times: m x k by k x n, alpha times the sum.
struct Product {
  /// Assumes f32 or bf16, and a result in rows.
  explicit Product(const pprt::ppx::ContractionT &contraction);

  bool isLow() const { return lhs.width == 2; }
  double flops() const { return 2.0 * double(items * m * n) * double(k); }
  std::string name() const;
  /// Returns the distance of element (row, column) of batch item `item` from
  /// the first element, in elements.
  uint64_t offset(const Matrix &matrix, uint64_t item, uint64_t row,
                  uint64_t column) const;

  std::vector<uint64_t> batch;
  uint64_t items = 1, m, n, k;
  float alpha;
  Matrix lhs, rhs, out;

private:
  Matrix place(const pprt::ppx::MatrixViewT &view,
               pprt::ppx::ElementType element, uint64_t rows,
               uint64_t columns) const;
};

/// Memory with the same pages as in a step, for as many copies of the operands
/// as fit into `bytes`, at least one. All copies hold the same values.
class Copies {
public:
  Copies(const Product &product, uint64_t bytes);

  size_t size() const { return count; }
  Operands operator[](size_t index) const;

private:
  uint64_t rhsBegin, outBegin, stride; ///< in bytes
  size_t count;
  std::shared_ptr<char> memory;
};

/// Makes pp's own form. `contraction` has no epilogues.
Form ownForm(const pprt::ppx::ContractionT &contraction, pprt::cpu::Team &team);

/// Makes all forms in which the libraries can compute the product as it is laid
/// out: oneDNN's matmul, and in f32 its sgemm, OpenBLAS, and MKL if `mkl` names
/// a library; with the threads of the library, or called by as many threads of
/// OpenMP's, which divide rows, columns or the batch. `tells`: prints a line on
/// stderr for each library that is missing.
std::vector<Form> libraryForms(const Product &product, unsigned threads,
                               const std::string &mkl, bool tells);

#endif // PP_BENCHMARKS_PRODUCT_H
