//===- Epilogue.cpp - what a product does on its way out ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Epilogue.h"
#include "Problem.h"

using namespace emulated;
using namespace emulated::blas;

static bool isKnown(uint32_t kind) {
  switch (kind) {
  case CUBLASLT_EPILOGUE_DEFAULT:
  case CUBLASLT_EPILOGUE_BIAS:
  case CUBLASLT_EPILOGUE_GELU:
  case CUBLASLT_EPILOGUE_GELU_BIAS:
  case CUBLASLT_EPILOGUE_GELU_AUX:
  case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
  case CUBLASLT_EPILOGUE_DGELU:
  case CUBLASLT_EPILOGUE_BGRADA:
  case CUBLASLT_EPILOGUE_BGRADB:
    return true;
  default:
    return false;
  }
}

cublasStatus_t Epilogue::make(const Object &operation, const Problem &problem,
                              Epilogue &e) {
  const Matrix &d = problem.d;
  e.kind = operation.get<uint32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE);
  if (!isKnown(e.kind))
    notModelled("epilogue " + std::to_string(e.kind));
  e.vector = operation.get<uint64_t>(CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  e.aux = operation.get<uint64_t>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
  e.auxLeading = operation.get<uint64_t>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
  if (e.kind != CUBLASLT_EPILOGUE_DEFAULT && d.type == CUDA_R_64F)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (e.hasAux() && (e.auxLeading % 8 != 0 || e.auxLeading < d.rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  // In the library's own words, "BGRADA only works with non-transposed A" and
  // "BGRADB only works with transposed B". NVIDIA's users keep away from sums
  // of one row or column, and from one step.
  if ((e.sumsLeft() && (problem.transposeA || d.rows == 1)) ||
      (e.sumsRight() && (!problem.transposeB || d.columns == 1)) ||
      ((e.sumsLeft() || e.sumsRight() || e.isGeluGradient()) &&
       problem.steps == 1))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if ((e.writesVector() || e.hasAux()) && d.batch > 1)
    notModelled("a vector or a matrix for each item of a batch");
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Epilogue::checkPointers(const Matrix &d) const {
  if ((hasVector() && (vector == 0 || vector % d.elementBytes() != 0)) ||
      (hasAux() && aux == 0))
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

static uint64_t alignmentOf(uint64_t pointer) {
  constexpr uint64_t kMost = 256;
  const uint64_t bits = pointer | kMost;
  return bits & -bits;
}

uint64_t Epilogue::vectorAlignment() const {
  return hasVector() ? alignmentOf(vector) : 0;
}
uint64_t Epilogue::auxAlignment() const {
  return hasAux() ? alignmentOf(aux) : 0;
}
