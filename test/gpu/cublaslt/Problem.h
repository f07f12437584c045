//===- Problem.h - what a call of cublasLt is asked to multiply -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: descriptors. Out: a product with everything checked that cublasLt.h says
// of it, and the algorithms that there are for it. They add in different
// orders, so whoever does not keep to the one that was chosen gets other bits.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUBLASLT_PROBLEM_H
#define PP_TEST_GPU_CUBLASLT_PROBLEM_H

#include "Epilogue.h"
#include "Objects.h"

#include <vector>

namespace emulated::blas {

/// A layout.
struct Matrix {
  cudaDataType type = CUDA_R_32F;
  uint64_t rows = 0, columns = 0, leading = 0, stride = 0;
  int32_t batch = 1;
  bool hasPointers = false; ///< an array of them, instead of a stride

  uint64_t elementBytes() const {
    return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
  }
  bool operator==(const Matrix &other) const {
    return type == other.type && rows == other.rows &&
           columns == other.columns && leading == other.leading &&
           batch == other.batch && hasPointers == other.hasPointers &&
           (batch == 1 || stride == other.stride);
  }
};

struct Problem {
  /// SUCCESS, or what the library returns.
  static cublasStatus_t make(const Object *operation, const Object *a,
                             const Object *b, const Object *c, const Object *d,
                             Problem &problem);
  /// The same for the same product.
  uint64_t digest() const;

  bool isDouble = false, isTf32 = false;
  Matrix a, b, c, d;
  bool transposeA = false, transposeB = false;
  uint64_t steps = 0;
  Epilogue epilogue;
};

/// In which order an algorithm adds.
enum class Order : uint64_t {
  upwards, ///< one step after the other
  parts,   ///< four parts of the steps, kept in the workspace
  vectors, ///< even steps, then odd ones; from and to multiples of 16 bytes
  rounded, ///< as parts, each in the type of the result
  number
};

struct Alignment {
  uint64_t a = 256, b = 256, c = 256, d = 256;
};

uint64_t workspaceOf(const Problem &problem, Order order);
/// Whether it can be used with addresses that are such multiples.
bool takes(const Problem &problem, Order order, const Alignment &alignment);

/// The algorithm as the library's user keeps it.
cublasLtMatmulAlgo_t pack(const Problem &problem, Order order);
/// False if it is none for this problem.
bool unpack(const cublasLtMatmulAlgo_t &algorithm, const Problem &problem,
            Order &order);
/// Whether the pointers of its epilogue are aligned as those that the algorithm
/// was chosen for, and as it needs them.
bool takesPointers(const cublasLtMatmulAlgo_t &algorithm,
                   const Epilogue &epilogue);

/// What multiplies, in memory of the device.
struct Task {
  Problem problem;
  Order order = Order::upwards;
  double alpha = 1, beta = 0;
  uint64_t a = 0, b = 0, c = 0, d = 0, workspace = 0, workspaceBytes = 0;
  /// Of each matrix, where the items of a batch are.
  std::vector<uint64_t> itemsA, itemsB, itemsC, itemsD;
};
/// Finds the items, of which pointers may tell; false if these cannot be read.
bool findItems(Task &task, Access *access);
bool multiply(const Task &task, Access &access);
/// Says whether items are aligned as the algorithm needs them, and apart.
bool isAligned(const Task &task);
/// Says whether ranges overlap that must not.
bool isApart(const Task &task);

} // namespace emulated::blas

#endif // PP_TEST_GPU_CUBLASLT_PROBLEM_H
