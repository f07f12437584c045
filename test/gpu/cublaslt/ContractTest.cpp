//===- ContractTest.cpp - what cublasLt answers ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A table of calls and of what they return, for any libcublasLt: the emulated
// library everywhere, the real library where there is one, which judges the
// table and with it the emulated library. Descriptors need no GPU; rows that do
// are left out where none is.
//
//===----------------------------------------------------------------------===//
#include "Contract.h"

#include <cstring>

using namespace pprt::cuda;
using namespace pprt::cuda::contract;

namespace {

Blas blas;

constexpr int kOk = CUBLAS_STATUS_SUCCESS,
              kUnsupported = CUBLAS_STATUS_NOT_SUPPORTED;

/// Objects for calls, and what calls returned.
class Sequence {
public:
  Sequence() {
    blas.cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    blas.cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 4, 5, 4);
    blas.cublasLtMatmulPreferenceCreate(&preference);
    if (!hasDevice)
      return;
    blas.cublasLtCreate(&handle);
    driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
    driver.cuMemAlloc(&memory, kBytes);
    std::vector<float> values(kBytes / 4);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = float(i % 5) - 2;
    driver.cuMemcpyHtoDAsync(memory, values.data(), kBytes, stream);
    driver.cuStreamSynchronize(stream);
  }
  ~Sequence() {
    blas.cublasLtMatmulDescDestroy(operation);
    blas.cublasLtMatrixLayoutDestroy(layout);
    blas.cublasLtMatmulPreferenceDestroy(preference);
    if (!hasDevice)
      return;
    driver.cuStreamSynchronize(stream);
    driver.cuMemFree(memory);
    driver.cuStreamDestroy(stream);
    blas.cublasLtDestroy(handle);
  }

  void operator()(cublasStatus_t result) { results.push_back(result); }
  /// A value that is no result of a call.
  void value(int number) { results.push_back(number); }

  /// A product of m x k by k x n in f32 unless changed, all in one block.
  struct Product {
    uint64_t m = 8, n = 6, k = 4, ldA = 8, ldB = 4, ldD = 8;
    cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
    int32_t transpose = CUBLAS_OP_N;  ///< of A, whose layout stays
    int32_t transposeB = CUBLAS_OP_N; ///< of B, whose layout is its transpose
    int32_t batch = 1;
    int64_t strideA = 0, strideB = 0, strideD = 0;
    uint32_t alignment = 16;
    uint64_t offset = 0; ///< in bytes
    float beta = 0;
    uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  };
  /// The status of the heuristic and, if there is an algorithm, of the product,
  /// and the sum of its elements, each times its row. With an epilogue, the
  /// same of six of its vector and of a matrix beside D, whatever wrote them.
  void multiply(const Product &p) {
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, d;
    blas.cublasLtMatmulDescCreate(&desc, p.compute, CUDA_R_32F);
    blas.cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA,
                                        &p.transpose, 4);
    const bool isTransposed = p.transposeB == CUBLAS_OP_T;
    blas.cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSB,
                                        &p.transposeB, 4);
    if (p.epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
      const CUdeviceptr vector = memory + 12288, aux = memory + 14336;
      const int64_t auxLeading = 8;
      blas.cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                          &p.epilogue, 4);
      blas.cublasLtMatmulDescSetAttribute(
          desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &vector, 8);
      blas.cublasLtMatmulDescSetAttribute(
          desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux, 8);
      blas.cublasLtMatmulDescSetAttribute(
          desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &auxLeading, 8);
    }
    const auto make = [](cublasLtMatrixLayout_t &made, cudaDataType type,
                         uint64_t rows, uint64_t columns, uint64_t leading,
                         int32_t batch, int64_t stride) {
      blas.cublasLtMatrixLayoutCreate(&made, type, rows, columns,
                                      int64_t(leading));
      blas.cublasLtMatrixLayoutSetAttribute(
          made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, 4);
      blas.cublasLtMatrixLayoutSetAttribute(
          made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, 8);
    };
    make(a, CUDA_R_32F, p.m, p.k, p.ldA, p.batch, p.strideA);
    make(b, CUDA_R_32F, isTransposed ? p.n : p.k, isTransposed ? p.k : p.n,
         p.ldB, p.batch, p.strideB);
    make(d, CUDA_R_32F, p.m, p.n, p.ldD, p.batch, p.strideD);
    for (const int matrix : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                             CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                             CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                             CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      blas.cublasLtMatmulPreferenceSetAttribute(
          preference, cublasLtMatmulPreferenceAttributes_t(matrix),
          &p.alignment, 4);
    cublasLtMatmulHeuristicResult_t best = {};
    int found = 0;
    const cublasStatus_t chosen = blas.cublasLtMatmulAlgoGetHeuristic(
        handle, desc, a, b, d, d, preference, 1, &best, &found);
    (*this)(chosen);
    if (chosen == CUBLAS_STATUS_SUCCESS) {
      const float alpha = 1;
      const auto at = [&](uint64_t place) {
        return reinterpret_cast<void *>(uintptr_t(memory + place + p.offset));
      };
      (*this)(blas.cublasLtMatmul(handle, desc, &alpha, at(0), a, at(4096), b,
                                  &p.beta, at(8192), d, at(8192), d, &best.algo,
                                  nullptr, 0, stream));
      std::vector<float> result(1024), vector(6), aux(48);
      driver.cuMemcpyDtoHAsync(result.data(), memory + 8192 + p.offset, 4096,
                               stream);
      driver.cuMemcpyDtoHAsync(vector.data(), memory + 12288, 24, stream);
      driver.cuMemcpyDtoHAsync(aux.data(), memory + 14336, 192, stream);
      driver.cuStreamSynchronize(stream);
      float sum = 0, sumOfVector = 0, sumOfAux = 0;
      for (int32_t item = 0; item < p.batch; ++item)
        for (uint64_t column = 0; column < p.n; ++column)
          for (uint64_t row = 0; row < p.m; ++row)
            sum += float(row + 1) *
                   result[uint64_t(item * p.strideD) + column * p.ldD + row];
      value(int(sum));
      if (p.epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
        for (size_t i = 0; i < vector.size(); ++i)
          sumOfVector += float(i + 1) * vector[i];
        for (size_t i = 0; i < aux.size(); ++i)
          sumOfAux += float(i % 8 + 1) * aux[i];
        value(int(sumOfVector));
        value(int(sumOfAux));
      }
    }
    for (cublasLtMatrixLayout_t made : {a, b, d})
      blas.cublasLtMatrixLayoutDestroy(made);
    blas.cublasLtMatmulDescDestroy(desc);
  }

  static constexpr size_t kBytes = 16384;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t layout = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtHandle_t handle = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  Results results;
};
using Product = Sequence::Product;

// clang-format off
const Row<Sequence> rows[] = {
  {"sizes of the attributes that the engine sets", [](Sequence &s) {
     const char value[8] = {};
     for (const auto &[attribute, size] : {std::pair(CUBLASLT_MATMUL_DESC_TRANSA, 4), {CUBLASLT_MATMUL_DESC_TRANSB, 4},
          {CUBLASLT_MATMUL_DESC_EPILOGUE, 4}, {CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8}, {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, 8},
          {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 8}})
       s(blas.cublasLtMatmulDescSetAttribute(s.operation, attribute, value, size));
     for (const auto &[attribute, size] : {std::pair(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 4),
          {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 8}, {CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, 4}})
       s(blas.cublasLtMatrixLayoutSetAttribute(s.layout, attribute, value, size));
     for (const auto &[attribute, size] : {std::pair(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 8),
          {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 4}, {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 4},
          {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 4}, {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 4},
          {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 4}})
       s(blas.cublasLtMatmulPreferenceSetAttribute(s.preference, attribute, value, size));
   }, Results(15, kOk)},
  {"words of results", [](Sequence &s) {
     s.value(std::strcmp(blas.cublasLtGetStatusString(CUBLAS_STATUS_SUCCESS), "success"));
     s.value(std::strcmp(blas.cublasLtGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED), "the requested functionality is not supported"));
     s.value(std::strcmp(blas.cublasLtGetStatusString(CUBLAS_STATUS_INTERNAL_ERROR), "an internal operation failed"));
     s.value(std::strcmp(blas.cublasLtGetStatusString(cublasStatus_t(12345)), "unrecognized status"));
   }, {0, 0, 0, 0}},
  // Products.
  {"a product", [](Sequence &s) { s.multiply({}); }, {kOk, kOk, -18}, true},
  {"added to what is there", [](Sequence &s) { Product p; p.beta = 1; s.multiply(p); }, {kOk, kOk, -19}, true},
  {"longer columns", [](Sequence &s) { Product p; p.ldA = 12; p.ldB = 8; p.ldD = 16; s.multiply(p); }, {kOk, kOk, -44}, true},
  {"transposed", [](Sequence &s) { Product p; p.m = p.k = 6; p.ldA = p.ldB = p.ldD = 8; p.transpose = CUBLAS_OP_T; s.multiply(p); }, {kOk, kOk, -14}, true},
  {"a batch", [](Sequence &s) { Product p; p.batch = 3; p.strideA = 32; p.strideB = 24; p.strideD = 48; s.multiply(p); }, {kOk, kOk, -16}, true},
  {"a batch with one factor for all", [](Sequence &s) { Product p; p.batch = 3; p.strideA = 32; p.strideD = 48; s.multiply(p); }, {kOk, kOk, -10}, true},
  {"results of a batch beside each other", [](Sequence &s) { Product p; p.batch = 3; p.strideA = 32; p.strideB = 24; p.ldD = 24; p.strideD = 8; s.multiply(p); }, {kOk, kOk, -16}, true},
  {"at odd addresses", [](Sequence &s) { Product p; p.alignment = 4; p.offset = 4; s.multiply(p); }, {kOk, kOk, -3}, true},
  {"TF32", [](Sequence &s) { Product p; p.compute = CUBLAS_COMPUTE_32F_FAST_TF32; s.multiply(p); }, {kOk, kOk, -18}, true},
  // Epilogues.
  {"a bias", [](Sequence &s) { Product p; p.epilogue = CUBLASLT_EPILOGUE_BIAS; s.multiply(p); }, {kOk, kOk, 90, -5, -10}, true},
  {"GELU of a biased product", [](Sequence &s) { Product p; p.epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS; s.multiply(p); }, {kOk, kOk, 454, -5, 90}, true},
  {"sums of A", [](Sequence &s) { Product p; p.epilogue = CUBLASLT_EPILOGUE_BGRADA; s.multiply(p); }, {kOk, kOk, -18, 5, -10}, true},
  {"sums of B", [](Sequence &s) { Product p; p.epilogue = CUBLASLT_EPILOGUE_BGRADB; p.transposeB = CUBLAS_OP_T; p.ldB = 8; s.multiply(p); }, {kOk, kOk, -32, 6, -10}, true},
  {"sums of A over its columns", [](Sequence &s) { Product p; p.m = p.k = 6; p.ldA = p.ldB = p.ldD = 8; p.epilogue = CUBLASLT_EPILOGUE_BGRADA; p.transpose = CUBLAS_OP_T; s.multiply(p); }, {kUnsupported}, true},
  {"sums of B over its columns", [](Sequence &s) { Product p; p.epilogue = CUBLASLT_EPILOGUE_BGRADB; s.multiply(p); }, {kUnsupported}, true},
};
// clang-format on

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return runRows(blas, openBlas(findVersion()), "ppEmulatorBlas", rows);
}
