//===- Problem.h - what a call of cublasLt is asked to multiply -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A descriptor has attributes, each of a size of its own; nothing is said of
// their values before it is used. Descriptors make a product, with everything
// checked that cublasLt.h says of it, what is done on its way out, and the
// algorithms that there are for it. They add in different orders, so whoever
// does not keep to the one that was chosen gets other bits.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUBLASLT_PROBLEM_H
#define PP_TEST_GPU_CUBLASLT_PROBLEM_H

#include "cuda/Guest.h"

#include <cublasLt.h>

#include <cstring>
#include <map>
#include <vector>

namespace emulated::blas {

enum class Kind { handle, operation, layout, preference };

class Object {
public:
  explicit Object(Kind kind) : kind(kind) {}

  template <typename T> T get(int attribute) const {
    T value = {};
    if (const auto found = values.find(attribute); found != values.end())
      std::memcpy(&value, &found->second, sizeof(T));
    return value;
  }
  template <typename T> void set(int attribute, T value) {
    values[attribute] = 0;
    std::memcpy(&values[attribute], &value, sizeof(T));
  }
  /// As the library's call does it.
  cublasStatus_t set(int attribute, const void *value, size_t size);

  const Kind kind;

private:
  std::map<int, uint64_t> values; ///< those that were set
};

/// Makes one, with its attributes as the library has them at first.
Object *create(Kind kind);
/// Null for null; a fault, and null, if it is none or of another kind.
Object *find(const void *handle, Kind kind);
void destroy(Object *object);

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

struct Problem;

struct Epilogue {
  /// SUCCESS, or what the library returns for a product like this.
  static cublasStatus_t make(const Object &operation, const Problem &problem,
                             Epilogue &epilogue);
  /// The same of its pointers, which an algorithm is chosen by, too.
  cublasStatus_t checkPointers(const Matrix &d) const;
  /// What they are multiples of; 0 of those that there are not.
  uint64_t vectorAlignment() const;
  uint64_t auxAlignment() const;

  bool addsBias() const { return (kind & 4) != 0; }
  bool isGelu() const { return (kind & 32) != 0; }
  bool isGeluGradient() const { return (kind & 64) != 0; }
  bool hasAux() const { return (kind & 128) != 0; }
  bool sumsLeft() const { return kind == CUBLASLT_EPILOGUE_BGRADA; }
  bool sumsRight() const { return kind == CUBLASLT_EPILOGUE_BGRADB; }
  bool writesVector() const { return sumsLeft() || sumsRight(); }
  bool hasVector() const { return addsBias() || writesVector(); }

  uint32_t kind = CUBLASLT_EPILOGUE_DEFAULT;
  uint64_t vector = 0;              ///< bias, or its gradient
  uint64_t aux = 0, auxLeading = 0; ///< what GELU was given
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
