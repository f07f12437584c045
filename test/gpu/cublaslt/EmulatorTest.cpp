//===- EmulatorTest.cpp - faults that the emulated cublasLt reports -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A table of products, most with a planted fault, for the emulated cublasLt
// over the emulated libcuda. PPCudaProductsTest checks values and failing
// calls.
//
//===----------------------------------------------------------------------===//
#include "Emulated.h"

#include <cmath>
#include <functional>

using namespace pprt::cuda;

namespace {

constexpr int kOk = CUBLAS_STATUS_SUCCESS;

/// D = A B of 16x12 over 32 in f32, in one block of memory, unless changed.
struct Product {
  uint64_t ldC = 16, ldD = 16;
  int32_t batch = 1;
  int64_t strideD = 0;
  // From the begin of the block, in bytes.
  uint64_t a = 0, b = 4096, c = 8192, d = 8192, workspace = 16384;
  uint64_t workspaceBytes = 4096;
  uint32_t alignment = 16;
  float beta = 0;
};

class CublasLt : public emulated::Emulated {
protected:
  void SetUp() override {
    Emulated::SetUp();
    take(blas, openBlas(driver.version), "ppEmulatorBlas");
    begin("");
  }

  /// A new process, in which faults are only noted, with 64 KiB that are
  /// numbers.
  void begin(const std::string &settings) {
    reset(settings);
    ASSERT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    CUcontext context;
    ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    for (CUstream *stream : {&one, &two})
      driver.cuStreamCreateWithPriority(stream, CU_STREAM_NON_BLOCKING, 0);
    ASSERT_EQ(driver.cuMemAlloc(&block, kBytes), CUDA_SUCCESS);
    std::vector<float> values(kBytes / 4);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = 1 + float(i * 7919 % 1009) / 1009;
    driver.cuMemcpyHtoDAsync(block, values.data(), kBytes, one);
    driver.cuStreamSynchronize(one);
    ASSERT_EQ(blas.cublasLtCreate(&handle), kOk);
  }
  cublasLtMatrixLayout_t layout(uint64_t rows, uint64_t columns,
                                uint64_t leading, int32_t batch,
                                int64_t stride) {
    cublasLtMatrixLayout_t made;
    EXPECT_EQ(blas.cublasLtMatrixLayoutCreate(&made, CUDA_R_32F, rows, columns,
                                              int64_t(leading)),
              kOk);
    blas.cublasLtMatrixLayoutSetAttribute(
        made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch));
    blas.cublasLtMatrixLayoutSetAttribute(
        made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
        sizeof(stride));
    return made;
  }
  void describe(const Product &p) {
    blas.cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    a = layout(16, 32, 16, p.batch, 0);
    b = layout(32, 12, 32, p.batch, 0);
    c = layout(16, 12, p.ldC, p.batch, p.strideD);
    d = layout(16, 12, p.ldD, p.batch, p.strideD);
    blas.cublasLtMatmulPreferenceCreate(&preference);
    blas.cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &p.workspaceBytes,
        8);
    for (const auto matrix : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
                              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      blas.cublasLtMatmulPreferenceSetAttribute(preference, matrix,
                                                &p.alignment, 4);
  }
  /// What the heuristic returns, and its algorithms.
  int choose(const Product &p) {
    describe(p);
    results.resize(8);
    int found = 0;
    const int result = blas.cublasLtMatmulAlgoGetHeuristic(
        handle, operation, a, b, c, d, preference, 8, results.data(), &found);
    results.resize(size_t(found));
    return result;
  }
  int multiply(const Product &p, CUstream stream, size_t algorithm = 0) {
    const float alpha = 1;
    const auto at = [&](uint64_t offset) {
      return reinterpret_cast<void *>(uintptr_t(block + offset));
    };
    return blas.cublasLtMatmul(handle, operation, &alpha, at(p.a), a, at(p.b),
                               b, &p.beta, at(p.c), c, at(p.d), d,
                               &results[algorithm].algo, at(p.workspace),
                               p.workspaceBytes, stream);
  }
  static constexpr size_t kBytes = 65536;
  Blas blas;
  CUstream one = nullptr, two = nullptr;
  CUdeviceptr block = 0;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr, d = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> results;
};

} // namespace

TEST_F(CublasLt, RefusesOrReportsPlantedFaults) {
  struct Row {
    const char *fault; ///< empty: none is reported
    bool isRight;
    std::function<void(Product &)> change;
  };
  const Row rows[] = {
      {"", true, [](Product &) {}},
      {"", true, [](Product &p) { p.beta = 1, p.c = 32768; }},
      {"", true, // heads beside each other
       [](Product &p) { p.ldC = p.ldD = 32, p.batch = 2, p.strideD = 16; }},
      {"", false, [](Product &p) { p.ldC = 20; }}, // in place, other layout
      {"", false, [](Product &p) { p.workspace += 8; }},
      {"is given A in the bytes of D", false,
       [](Product &p) { p.c = p.d = p.a + 16 * 4; }},
      {"is given B in the bytes of D or of its workspace", false,
       [](Product &p) { p.workspace = p.b; }},
      {"is given C in the bytes of D", false,
       [](Product &p) { p.c = p.d + 16, p.beta = 1; }},
      {"is given D in the bytes of D or of its workspace", false,
       [](Product &p) { p.workspace = p.d; }},
      {"writes a byte of D for two elements", false,
       [](Product &p) { p.batch = 2, p.strideD = 16 * 11, p.alignment = 4; }},
  };
  for (const Row &row : rows) {
    SCOPED_TRACE("row " + std::to_string(&row - rows));
    begin("");
    Product p;
    row.change(p);
    ASSERT_EQ(choose(p), kOk);
    EXPECT_EQ(multiply(p, one) == kOk, row.isRight);
    EXPECT_EQ(faults.empty(), !*row.fault) << allFaults();
    EXPECT_NE(allFaults().find(row.fault), std::string::npos) << allFaults();
  }
}

TEST_F(CublasLt, WritesOverItsWorkspaceInTheOrderOfItsStream) {
  Product p;
  ASSERT_EQ(choose(p), kOk);
  ASSERT_EQ(multiply(p, one), kOk);
  std::vector<float> values(p.workspaceBytes / 4);
  driver.cuMemcpyDtoHAsync(values.data(), block + p.workspace, p.workspaceBytes,
                           one);
  for (const float value : values)
    ASSERT_TRUE(std::isnan(value));
  Product other = p;
  other.c = other.d = 32768;
  ASSERT_EQ(multiply(p, one), kOk);
  ASSERT_EQ(multiply(other, two), kOk);
  driver.cuCtxSynchronize();
  expectFault("and nothing orders it with a write by cublasLtMatmul of 16x12 ");
}
