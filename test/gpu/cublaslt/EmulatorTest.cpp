//===- EmulatorTest.cpp - what the emulated library of cublasLt reports
//------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Found by name, as the library is, over the emulated library of libcuda. What
// cublasLt.h forbids is refused as it says there; what it leaves open, as the
// bytes of a workspace, comes out in the worst way.
//
//===----------------------------------------------------------------------===//
#include "Emulated.h"

#include <algorithm>
#include <cmath>

using namespace pprt::cuda;

namespace {

constexpr int kOk = CUBLAS_STATUS_SUCCESS, kValue = CUBLAS_STATUS_INVALID_VALUE;

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
  uint64_t bias = 0; ///< 0 is none
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
  std::vector<float> read(uint64_t offset, size_t number) {
    std::vector<float> values(number);
    driver.cuMemcpyDtoHAsync(values.data(), block + offset, number * 4, one);
    return values;
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
    if (p.bias) {
      const uint32_t kind = CUBLASLT_EPILOGUE_BIAS;
      const CUdeviceptr bias = block + p.bias;
      blas.cublasLtMatmulDescSetAttribute(
          operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &kind, 4);
      blas.cublasLtMatmulDescSetAttribute(
          operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, 8);
    }
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
  /// Both, and what ran.
  int run(const Product &p) {
    if (const int refused = choose(p))
      return refused;
    const int result = multiply(p, one);
    driver.cuStreamSynchronize(one);
    return result;
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

TEST_F(CublasLt, WritesOverItsWorkspace) {
  Product p;
  ASSERT_EQ(run(p), kOk);
  for (const float value : read(p.workspace, p.workspaceBytes / 4))
    ASSERT_TRUE(std::isnan(value));
  EXPECT_FALSE(std::isnan(read(p.workspace + p.workspaceBytes, 1)[0]));
  // What was there is not to be read again.
  p.a = p.workspace;
  p.workspace = 32768;
  ASSERT_EQ(run(p), kOk);
  expectFault("reads byte 16384 of 65536 bytes of device memory, which was "
              "never written");
}

TEST_F(CublasLt, RefusesAWorkspaceThatIsTooSmall) {
  Product p;
  ASSERT_EQ(choose(p), kOk);
  const auto largest = std::max_element(
      results.begin(), results.end(), [](const auto &x, const auto &y) {
        return x.workspaceSize < y.workspaceSize;
      });
  ASSERT_EQ(largest->workspaceSize, 4u * 16 * 12 * 4);
  const auto index = size_t(largest - results.begin());
  p.workspaceBytes = largest->workspaceSize;
  EXPECT_EQ(multiply(p, one, index), kOk);
  --p.workspaceBytes;
  EXPECT_EQ(multiply(p, one, index), kValue);
  p.workspaceBytes = 4096;
  p.workspace += 8;
  EXPECT_EQ(multiply(p, one, index), kValue);
}

TEST_F(CublasLt, TellsBytesThatOverlap) {
  const auto expect = [&](const char *words, auto change) {
    begin("");
    Product p;
    change(p);
    run(p);
    expectFault(words);
  };
  expect("is given A in the bytes of D",
         [](Product &p) { p.c = p.d = p.a + 16 * 4; });
  expect("is given B in the bytes of D or of its workspace",
         [](Product &p) { p.workspace = p.b; });
  expect("is given C in the bytes of D",
         [](Product &p) { p.c = p.d + 16, p.beta = 1; });
  expect("is given D in the bytes of D or of its workspace",
         [](Product &p) { p.workspace = p.d; });
  expect("writes a byte of D for two elements",
         [](Product &p) { p.batch = 2, p.strideD = 16 * 11, p.alignment = 4; });
  begin("");
  Product apart;
  apart.beta = 1;
  apart.c = 32768;
  EXPECT_EQ(run(apart), kOk);
  // Heads beside each other.
  apart.ldC = apart.ldD = 32;
  apart.batch = 2;
  apart.strideD = 16;
  EXPECT_EQ(run(apart), kOk);
  EXPECT_TRUE(faults.empty());
  // In place, with another layout.
  Product other;
  other.ldC = 20;
  EXPECT_EQ(run(other), kValue);
}

TEST_F(CublasLt, TellsAddressesThatAreNotAligned) {
  Product p;
  ASSERT_EQ(choose(p), kOk);
  p.a += 4;
  int faulty = 0;
  for (size_t algorithm = 0; algorithm < results.size(); ++algorithm)
    faulty += multiply(p, one, algorithm) != kOk;
  EXPECT_EQ(faulty, 1);
  expectFault("not aligned as its algorithm was chosen for");
}

TEST_F(CublasLt, ChoosesByWhereTheVectorOfAnEpilogueIs) {
  Product p;
  p.bias = 24576;
  ASSERT_EQ(choose(p), kOk);
  EXPECT_EQ(multiply(p, one), kOk);
  const CUdeviceptr less = block + p.bias + 16;
  blas.cublasLtMatmulDescSetAttribute(
      operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &less, sizeof(less));
  EXPECT_EQ(multiply(p, one), CUBLAS_STATUS_EXECUTION_FAILED);
  expectFault("not aligned as its algorithm was chosen for");
}

TEST_F(CublasLt, TellsProductsThatNothingOrders) {
  for (int seed = 0; seed < 16; ++seed) {
    begin("seed " + std::to_string(seed) + "\n");
    Product p;
    ASSERT_EQ(choose(p), kOk);
    // The workspace of one stream for another.
    Product q = p;
    q.c = q.d = 32768;
    ASSERT_EQ(multiply(p, one), kOk);
    ASSERT_EQ(multiply(q, two), kOk);
    driver.cuCtxSynchronize();
    expectFault("and nothing orders it with a write by "
                "cublasLtMatmul of 16x12 over 32");
  }
}

TEST_F(CublasLt, TellsWhatIsGone) {
  Product p;
  ASSERT_EQ(choose(p), kOk);
  blas.cublasLtMatrixLayoutDestroy(a);
  multiply(p, one);
  expectFault("an object of cublasLt that is not there");
  begin("");
  ASSERT_EQ(choose(p), kOk);
  ASSERT_EQ(multiply(p, one), kOk);
  driver.cuMemFree(block);
  driver.cuStreamSynchronize(one);
  ASSERT_FALSE(faults.empty());
  EXPECT_NE(faults.back().find("cublasLtMatmul"), std::string::npos)
      << faults.back();
}
