//===- Matrices.h - a contraction as cublasLt takes it ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: ppx.Contraction. Out: products of matrices of columns, or the reason why
// there are none. The compiler asks before it forms a kernel (pprt/Target.h),
// and the engine makes its calls from the same answer, so what was compiled is
// never refused for its layout. Nothing here needs CUDA.
//
// cublasLt's matrices are columns, whose elements are neighbours. Where out has
// rows, its transpose has columns: out^T = rhs^T lhs^T, and no byte is moved.
// Of the dimensions of a batch those that follow each other in all three
// operands become one. If more is left, as where heads lie between positions,
// one call is given an array of pointers to each operand's matrices; where the
// library has no such call, the longest dimension is the batch of a call, and
// the others are calls of their own. What is done besides in the same call is
// one of cublasLt's epilogues: a matrix or a bias, GELU (as tanh has it) with
// what it is given as a second result, its gradient, or the sums of an operand.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_TARGETS_CUDA_MATRICES_H
#define PPRT_TARGETS_CUDA_MATRICES_H

#include "pprt/Ppx.h"
#include "pprt/Status.h"

#include <optional>
#include <vector>

namespace pprt::cuda {

/// Bytes that tensor cores load at once, which rows and extents are best
/// multiples of.
constexpr uint64_t kTensorCoreBytes = 16;

/// Columns that are `leading` elements apart, once for each item of the batch.
struct Matrix {
  uint64_t rows = 0, columns = 0, leading = 0;
  bool isTransposed = false; ///< before it is multiplied
  uint64_t batchStride = 0;
};

/// out = left * right, for each item of a batch, several times.
struct MatrixProducts {
  Matrix left, right, out;
  /// Whether the left factor is the contraction's rhs.
  bool isSwapped = false;
  uint64_t batch = 1;

  /// Where a call finds its matrices, in elements.
  struct Call {
    uint64_t left = 0, right = 0, out = 0;
  };
  std::vector<Call> calls;
  /// Whether one call may be given the addresses of all matrices, one array
  /// behind the other, instead of several with a stride each.
  bool mayUsePointers = false;
  uint64_t tableBytes() const {
    return mayUsePointers ? 3 * sizeof(uint64_t) * calls.size() * batch : 0;
  }
  /// How many products of two numbers are an element's sum.
  uint64_t steps() const {
    return left.isTransposed ? left.rows : left.columns;
  }
  bool accumulates = false; ///< to what out holds
  bool hasEpilogues() const {
    return vectorRole != Vector::none || addend ||
           activation != Activation::none;
  }
  /// The same with nothing beside it, in no more memory.
  MatrixProducts withoutEpilogues() const;

  /// What is done beside the product. At most one is a vector.
  enum class Vector {
    none,
    bias,     ///< as long as out's columns, added to each of them
    leftSums, ///< written: of the left factor, over the steps
    rightSums ///< of the right one
  } vectorRole = Vector::none;
  enum class Activation {
    none,
    gelu,
    geluGradient
  } activation = Activation::none;
  /// Where in a parameter, in elements.
  struct Place {
    uint32_t parameter = 0;
    uint64_t offset = 0;
  };
  Place vector;
  /// A matrix as long as out, and added to it in front of an activation.
  std::optional<Place> addend;
  Matrix addendLayout;
  /// What GELU is given, as out lies with `auxiliaryLeading` elements between
  /// columns: written by it if anybody wants it, read by its gradient.
  std::optional<Place> auxiliary;
  uint64_t auxiliaryLeading = 0;
};

/// Fails (badArtifact) with what was expected if it cannot be had so.
Expected<MatrixProducts> findProducts(const ppx::ContractionT &contraction);

} // namespace pprt::cuda

#endif // PPRT_TARGETS_CUDA_MATRICES_H
