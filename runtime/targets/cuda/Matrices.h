//===- Matrices.h - a contraction as cublasLt takes it ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: ppx.Contraction. Out: products of column-major matrices, or the reason
// why there are none. The compiler asks before it forms a kernel
// (pprt/Target.h), and the engine derives its calls from the same answer, so a
// compiled kernel is never refused for its layout. Nothing here needs CUDA.
//
// cublasLt's matrices are columns, whose elements are neighbours. If out has
// rows, its transpose has columns: out^T = rhs^T lhs^T, and no byte is moved.
// Batch dimensions that follow each other in all three operands become one. If
// several are left, for example when heads lie between positions, one call gets
// an array of pointers to each operand's matrices; if the library has no such
// call, the longest dimension is the batch of a call, and the others are
// separate calls. A call can also have one of cublasLt's epilogues: a matrix or
// a bias, GELU (its tanh form) with its input as a second result, its gradient,
// or the sums of an operand.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_TARGETS_CUDA_MATRICES_H
#define PPRT_TARGETS_CUDA_MATRICES_H

#include "pprt/Ppx.h"
#include "pprt/Status.h"

#include <optional>
#include <vector>

namespace pprt::cuda {

/// Bytes that tensor cores load at once; rows and extents should be multiples
/// of it.
constexpr uint64_t kTensorCoreBytes = 16;

/// Columns that are `leading` elements apart, for each item of the batch.
struct Matrix {
  uint64_t rows = 0, columns = 0, leading = 0;
  bool isTransposed = false; ///< before the product
  uint64_t batchStride = 0;
};

/// out = left * right, for each item of a batch, several times.
struct MatrixProducts {
  Matrix left, right, out;
  /// Whether the left factor is the contraction's rhs.
  bool isSwapped = false;
  uint64_t batch = 1;

  /// Offsets of a call's matrices, in elements.
  struct Call {
    uint64_t left = 0, right = 0, out = 0;
  };
  std::vector<Call> calls;
  /// Whether one call may get the addresses of all matrices, one array behind
  /// the other, instead of several calls with a stride each.
  bool mayUsePointers = false;
  uint64_t tableBytes() const {
    return mayUsePointers ? 3 * sizeof(uint64_t) * calls.size() * batch : 0;
  }
  /// Number of products that an element sums up.
  uint64_t steps() const {
    return left.isTransposed ? left.rows : left.columns;
  }
  bool accumulates = false; ///< adds to out's old value
  bool hasEpilogues() const {
    return vectorRole != Vector::none || addend ||
           activation != Activation::none;
  }
  /// Returns the same products without epilogues, in no more memory.
  MatrixProducts withoutEpilogues() const;

  /// Vector beside the product; at most one.
  enum class Vector {
    none,
    bias,     ///< as long as out's columns, added to each
    leftSums, ///< written: sums of the left factor over the steps
    rightSums ///< the same of the right factor
  } vectorRole = Vector::none;
  enum class Activation {
    none,
    gelu,
    geluGradient
  } activation = Activation::none;
  /// A place in a parameter, in elements.
  struct Place {
    uint32_t parameter = 0;
    uint64_t offset = 0;
  };
  Place vector;
  /// A matrix of out's size that is added to it before an activation.
  std::optional<Place> addend;
  Matrix addendLayout;
  /// Input of GELU, laid out as out with `auxiliaryLeading` elements between
  /// columns: written by GELU if it is needed, read by its gradient.
  std::optional<Place> auxiliary;
  uint64_t auxiliaryLeading = 0;
};

/// Fails (badArtifact) with what was expected if the library cannot compute it.
Expected<MatrixProducts> findProducts(const ppx::ContractionT &contraction);

} // namespace pprt::cuda

#endif // PPRT_TARGETS_CUDA_MATRICES_H
