//===- Problem.cpp - what a call of cublasLt is asked to multiply ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Problem.h"

using namespace emulated;
using namespace emulated::blas;

static constexpr uint64_t kLargest = 0x7fffffff;

static Matrix readLayout(const Object &object) {
  Matrix matrix;
  matrix.type = cudaDataType(object.get<uint32_t>(CUBLASLT_MATRIX_LAYOUT_TYPE));
  matrix.rows = object.get<uint64_t>(CUBLASLT_MATRIX_LAYOUT_ROWS);
  matrix.columns = object.get<uint64_t>(CUBLASLT_MATRIX_LAYOUT_COLS);
  matrix.leading = object.get<uint64_t>(CUBLASLT_MATRIX_LAYOUT_LD);
  matrix.batch = object.get<int32_t>(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  matrix.stride =
      object.get<uint64_t>(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  const auto mode = object.get<uint32_t>(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE);
  matrix.hasPointers = mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY;
  if (mode > CUBLASLT_BATCH_MODE_POINTER_ARRAY)
    notModelled("the batch mode " + std::to_string(mode));
  return matrix;
}

/// As cuBLAS's manual has the combinations, of those that are modelled.
static cublasStatus_t checkTypes(const Object &operation, Problem &p) {
  const auto compute = cublasComputeType_t(
      operation.get<int32_t>(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE));
  const auto scale =
      cudaDataType(operation.get<int32_t>(CUBLASLT_MATMUL_DESC_SCALE_TYPE));
  if (compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_64F &&
      compute != CUBLAS_COMPUTE_32F_FAST_TF32)
    notModelled("the compute type " + std::to_string(compute));
  p.isDouble = compute == CUBLAS_COMPUTE_64F;
  p.isTf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const cudaDataType computed = p.isDouble ? CUDA_R_64F : CUDA_R_32F;
  const bool isNarrow = !p.isDouble && !p.isTf32 &&
                        (p.a.type == CUDA_R_16BF || p.a.type == CUDA_R_16F);
  const bool fits =
      scale == computed && p.a.type == p.b.type && p.c.type == p.d.type &&
      (p.a.type == computed || isNarrow) &&
      (p.d.type == computed || (isNarrow && p.d.type == p.a.type));
  return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

static cublasStatus_t checkShapes(const Problem &p) {
  for (const Matrix *matrix : {&p.a, &p.b, &p.c, &p.d}) {
    if (matrix->rows == 0 || matrix->columns == 0 || matrix->batch < 1 ||
        matrix->leading < matrix->rows || matrix->batch != p.d.batch ||
        matrix->hasPointers != p.d.hasPointers)
      return CUBLAS_STATUS_INVALID_VALUE;
    if (matrix->rows > kLargest || matrix->columns > kLargest ||
        matrix->leading > kLargest)
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const uint64_t rows = p.transposeA ? p.a.columns : p.a.rows,
                 columns = p.transposeB ? p.b.rows : p.b.columns,
                 steps = p.transposeB ? p.b.columns : p.b.rows;
  const bool fits = p.steps == steps && p.d.rows == rows &&
                    p.d.columns == columns && p.c.rows == rows &&
                    p.c.columns == columns;
  return fits ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t Problem::make(const Object *operation, const Object *a,
                             const Object *b, const Object *c, const Object *d,
                             Problem &problem) {
  if (!operation || !a || !b || !c || !d)
    return CUBLAS_STATUS_INVALID_VALUE;
  const auto isTransposed = [&](int attribute, bool &result) {
    const auto value = operation->get<int32_t>(attribute);
    result = value == CUBLAS_OP_T;
    return value == CUBLAS_OP_T || value == CUBLAS_OP_N;
  };
  if (!isTransposed(CUBLASLT_MATMUL_DESC_TRANSA, problem.transposeA) ||
      !isTransposed(CUBLASLT_MATMUL_DESC_TRANSB, problem.transposeB))
    return CUBLAS_STATUS_INVALID_VALUE;
  problem.a = readLayout(*a);
  problem.b = readLayout(*b);
  problem.c = readLayout(*c);
  problem.d = readLayout(*d);
  problem.steps = problem.transposeA ? problem.a.rows : problem.a.columns;
  if (const cublasStatus_t refused = checkTypes(*operation, problem))
    return refused;
  if (const cublasStatus_t refused = checkShapes(problem))
    return refused;
  return Epilogue::make(*operation, problem, problem.epilogue);
}

uint64_t Problem::digest() const {
  uint64_t hash = 14695981039346656037u;
  const auto add = [&](uint64_t value) {
    hash = (hash ^ value) * 1099511628211u;
    hash ^= hash >> 29;
  };
  for (const Matrix *matrix : {&a, &b, &c, &d})
    for (const uint64_t value :
         {uint64_t(matrix->type), matrix->rows, matrix->columns,
          matrix->leading, uint64_t(matrix->batch),
          uint64_t(matrix->hasPointers),
          matrix->batch > 1 ? matrix->stride : 0})
      add(value);
  add(transposeA + 2 * transposeB + 4 * isTf32);
  add(epilogue.kind);
  return hash;
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

uint64_t blas::workspaceOf(const Problem &p, Order order) {
  const uint64_t results = p.d.rows * p.d.columns * uint64_t(p.d.batch);
  switch (order) {
  case Order::parts:
    return 4 * results * (p.isDouble ? 8 : 4);
  case Order::rounded:
    return 4 * results * p.d.elementBytes();
  default:
    return 0;
  }
}

bool blas::takes(const Problem &p, Order order, const Alignment &alignment) {
  const auto isMultiple = [&](const Matrix &matrix, uint64_t bytes) {
    const uint64_t size = matrix.elementBytes();
    if (order != Order::vectors)
      return bytes % size == 0;
    return bytes % 16 == 0 && matrix.leading * size % 16 == 0 &&
           (matrix.batch == 1 || matrix.hasPointers ||
            matrix.stride * size % 16 == 0);
  };
  return isMultiple(p.a, alignment.a) && isMultiple(p.b, alignment.b) &&
         isMultiple(p.c, alignment.c) && isMultiple(p.d, alignment.d);
}

/// What algorithms of this library begin with.
static constexpr uint64_t kMark = 0x70706c74;

cublasLtMatmulAlgo_t blas::pack(const Problem &problem, Order order) {
  cublasLtMatmulAlgo_t result = {};
  result.data[0] = kMark;
  result.data[1] = uint64_t(order);
  result.data[2] = problem.digest();
  result.data[3] = problem.epilogue.vectorAlignment();
  result.data[4] = problem.epilogue.auxAlignment();
  return result;
}

/// What a vector is to be a multiple of, whatever the algorithm was chosen for:
/// some of the library's have read 16 bytes at once.
static constexpr uint64_t kVectorAlignment = 16;

bool blas::takesPointers(const cublasLtMatmulAlgo_t &algorithm,
                         const Epilogue &epilogue) {
  return epilogue.vectorAlignment() >= algorithm.data[3] &&
         epilogue.auxAlignment() >= algorithm.data[4] &&
         (!epilogue.hasVector() ||
          epilogue.vectorAlignment() >= kVectorAlignment) &&
         (!epilogue.hasAux() || epilogue.auxAlignment() >= kVectorAlignment);
}

bool blas::unpack(const cublasLtMatmulAlgo_t &algorithm, const Problem &problem,
                  Order &order) {
  order = Order(algorithm.data[1]);
  return algorithm.data[0] == kMark && order < Order::number &&
         algorithm.data[2] == problem.digest();
}
