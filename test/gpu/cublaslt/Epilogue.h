//===- Epilogue.h - what a product does on its way out ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the attributes of an operation. Out: what is done with a column of D, and
// with a vector and a matrix beside it, as cublasLt.h tells of
// cublasLtEpilogue_t. Those that the engine asks for are here.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUBLASLT_EPILOGUE_H
#define PP_TEST_GPU_CUBLASLT_EPILOGUE_H

#include "Objects.h"

namespace emulated::blas {

struct Matrix;
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

} // namespace emulated::blas

#endif // PP_TEST_GPU_CUBLASLT_EPILOGUE_H
