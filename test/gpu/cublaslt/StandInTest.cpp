//===- StandInTest.cpp - what the stand-in of cublasLt reports ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Found by name, as the library is, over the stand-in of libcuda. What
// cublasLt.h forbids is refused as it says there; what it leaves open, as the
// bytes of a workspace, comes out in the worst way.
//
//===----------------------------------------------------------------------===//
#include "Played.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

using namespace pprt::cuda;

namespace {

constexpr int kOk = CUBLAS_STATUS_SUCCESS, kValue = CUBLAS_STATUS_INVALID_VALUE,
              kClosed = CUBLAS_STATUS_NOT_INITIALIZED,
              kUnsupported = CUBLAS_STATUS_NOT_SUPPORTED;

/// D = A B of 16x12 over 32 in f32, in one block of memory, unless changed.
struct Product {
  uint64_t m = 16, n = 12, k = 32, ldA = 16, ldB = 32, ldC = 16, ldD = 16;
  cudaDataType in = CUDA_R_32F, out = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType scale = CUDA_R_32F;
  int32_t batch = 1, batchD = 1;
  int64_t strideD = 0;
  int32_t transposeB = CUBLAS_OP_N;
  uint64_t rowsB = 32;
  // From the begin of the block, in bytes.
  uint64_t a = 0, b = 4096, c = 8192, d = 8192, workspace = 16384;
  uint64_t workspaceBytes = 4096, allowedBytes = 4096;
  uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_MASK, alignment = 16;
  float beta = 0;
  // Of epilogues, in bytes from the begin of the block: 0 is no pointer.
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  uint64_t vector = 0, aux = 0;
  int64_t auxLeading = 16;
  int32_t vectorType = -1, auxType = -1;
};

class CublasLt : public standin::Played {
protected:
  void SetUp() override {
    Played::SetUp();
    take(blas, openBlas(driver.version), "ppStandInBlas");
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

  cublasLtMatrixLayout_t layout(cudaDataType type, uint64_t rows,
                                uint64_t columns, uint64_t leading,
                                int32_t batch, int64_t stride) {
    cublasLtMatrixLayout_t made;
    EXPECT_EQ(blas.cublasLtMatrixLayoutCreate(&made, type, rows, columns,
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
    blas.cublasLtMatmulDescCreate(&operation, p.compute, p.scale);
    if (p.transposeB != CUBLAS_OP_N)
      blas.cublasLtMatmulDescSetAttribute(
          operation, CUBLASLT_MATMUL_DESC_TRANSB, &p.transposeB, 4);
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
      blas.cublasLtMatmulDescSetAttribute(operation, attribute, &value,
                                          sizeof(value));
    };
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, p.epilogue);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.vector ? block + p.vector : 0);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, p.vectorType);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p.aux ? block + p.aux : 0);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.auxLeading);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, p.auxType);
    a = layout(p.in, p.m, p.k, p.ldA, p.batch, 0);
    b = layout(p.in, p.rowsB, p.rowsB == p.k ? p.n : p.k, p.ldB, p.batch, 0);
    c = layout(p.out, p.m, p.n, p.ldC, p.batchD, p.strideD);
    d = layout(p.out, p.m, p.n, p.ldD, p.batchD, p.strideD);
    blas.cublasLtMatmulPreferenceCreate(&preference);
    blas.cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &p.allowedBytes,
        8);
    blas.cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &p.schemes, 4);
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
    return blas.cublasLtMatmul(
        handle, operation, &alpha, at(p.a), a, at(p.b), b, &p.beta, at(p.c), c,
        at(p.d), d,
        algorithm < results.size() ? &results[algorithm].algo : nullptr,
        at(p.workspace), p.workspaceBytes, stream);
  }
  /// Both, and what ran.
  int run(const Product &p, CUstream stream = nullptr) {
    if (const int refused = choose(p))
      return refused;
    const int result = multiply(p, stream ? stream : one);
    driver.cuStreamSynchronize(stream ? stream : one);
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

TEST_F(CublasLt, Multiplies) {
  Product p;
  p.d = p.c = 32768;
  const std::vector<float> left = read(0, 16 * 32), right = read(4096, 32 * 12),
                           before = read(32768, 16 * 12);
  p.beta = 2;
  ASSERT_EQ(run(p), kOk);
  const std::vector<float> got = read(32768, 16 * 12);
  for (size_t column = 0; column < 12; ++column)
    for (size_t row = 0; row < 16; ++row) {
      double sum = 2 * double(before[column * 16 + row]);
      for (size_t step = 0; step < 32; ++step)
        sum += double(left[step * 16 + row]) * right[column * 32 + step];
      EXPECT_NEAR(got[column * 16 + row], sum, 1e-4);
    }
  EXPECT_TRUE(faults.empty()) << faults[0];
}

TEST_F(CublasLt, RefusesWhatDoesNotFit) {
  const auto expect = [&](int result, auto change) {
    Product p;
    change(p);
    EXPECT_EQ(choose(p), result);
    EXPECT_EQ(results.empty(), result != kOk);
  };
  expect(kOk, [](Product &) {});
  expect(kOk, [](Product &p) { p.ldA = 20; });
  expect(kValue, [](Product &p) { p.ldA = 15; });
  expect(kValue, [](Product &p) { p.ldD = 15; });
  expect(kValue, [](Product &p) { p.m = 0; });
  expect(kValue, [](Product &p) { p.rowsB = 31, p.k = 32; });
  expect(kValue, [](Product &p) { p.transposeB = CUBLAS_OP_T; });
  expect(kOk, [](Product &p) { p.transposeB = CUBLAS_OP_T, p.rowsB = 12; });
  expect(kValue, [](Product &p) { p.transposeB = 77; });
  expect(kValue, [](Product &p) { p.batch = 2; });
  expect(kValue, [](Product &p) { p.batch = p.batchD = 0; });
  expect(kUnsupported, [](Product &p) { p.n = uint64_t(1) << 32; });
  expect(kUnsupported, [](Product &p) { p.scale = CUDA_R_64F; });
  expect(kUnsupported, [](Product &p) { p.in = CUDA_R_64F; });
  expect(kUnsupported, [](Product &p) { p.out = CUDA_R_16BF; });
  expect(kOk, [](Product &p) { p.in = CUDA_R_16BF; });
  expect(kOk, [](Product &p) { p.in = p.out = CUDA_R_16BF; });
  expect(kOk, [](Product &p) {
    p.in = p.out = p.scale = CUDA_R_64F, p.compute = CUBLAS_COMPUTE_64F;
  });
  EXPECT_TRUE(faults.empty());
}

TEST_F(CublasLt, NamesAlgorithmsByWhatTheyNeed) {
  const auto number = [&](auto change) {
    Product p;
    change(p);
    return choose(p) == kOk ? results.size() : 0;
  };
  EXPECT_EQ(number([](Product &) {}), 4u);
  EXPECT_EQ(number([](Product &p) { p.allowedBytes = 3071; }), 2u);
  EXPECT_EQ(number([](Product &p) {
              p.schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
            }),
            3u);
  EXPECT_EQ(number([](Product &p) { p.alignment = 4; }), 3u);
  EXPECT_EQ(number([](Product &p) { p.ldB = 33; }), 3u);
  EXPECT_EQ(number([](Product &p) { p.alignment = 2; }), 0u);
}

TEST_F(CublasLt, AlgorithmsAddInOrdersOfTheirOwn) {
  Product p;
  p.beta = 0;
  ASSERT_EQ(choose(p), kOk);
  std::set<std::vector<float>> sums;
  for (size_t algorithm = 0; algorithm < results.size(); ++algorithm) {
    ASSERT_EQ(multiply(p, one, algorithm), kOk);
    sums.insert(read(p.d, 16 * 12));
  }
  EXPECT_GE(sums.size(), 3u);
  // One of another problem is none.
  Product other;
  other.ldA = 20;
  describe(other);
  EXPECT_EQ(multiply(other, one), kUnsupported);
}

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
  expect("writes a byte of D for two elements", [](Product &p) {
    p.batch = p.batchD = 2, p.strideD = 16 * 11, p.alignment = 4;
  });
  begin("");
  Product apart;
  apart.beta = 1;
  apart.c = 32768;
  EXPECT_EQ(run(apart), kOk);
  // Heads beside each other.
  apart.ldC = apart.ldD = 32;
  apart.batch = apart.batchD = 2;
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

TEST_F(CublasLt, FinishesAsTheEpilogueSays) {
  constexpr size_t rows = 16, columns = 12, number = rows * columns;
  const auto gelu = [](double x) {
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  };
  // Values about 0, where GELU bends.
  std::vector<float> left(rows * 32), right(columns * 32), bias(rows),
      given(24 * columns);
  for (size_t i = 0; i < left.size(); ++i)
    left[i] = float(i * 37 % 11) / 10 - 0.5f;
  for (size_t i = 0; i < right.size(); ++i)
    right[i] = float(i * 53 % 13) / 12 - 0.5f;
  for (size_t i = 0; i < given.size(); ++i)
    given[i] = float(i * 29 % 17) / 8 - 1;
  for (size_t i = 0; i < rows; ++i)
    bias[i] = float(i) / 8 - 1;
  for (const uint32_t kind :
       {CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_BIAS,
        CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU,
        CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX,
        CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU,
        CUBLASLT_EPILOGUE_DGELU_BGRAD, CUBLASLT_EPILOGUE_BGRADA,
        CUBLASLT_EPILOGUE_BGRADB}) {
    begin("");
    Product p;
    p.epilogue = kind;
    p.vector = 24576;
    p.aux = 32768;
    p.auxLeading = 24;
    const auto write = [&](uint64_t offset, const std::vector<float> &values) {
      driver.cuMemcpyHtoDAsync(block + offset, values.data(), values.size() * 4,
                               one);
    };
    write(p.a, left);
    if (kind == CUBLASLT_EPILOGUE_BGRADB) {
      p.transposeB = CUBLAS_OP_T, p.rowsB = p.ldB = columns;
      std::vector<float> transposed(right.size());
      for (size_t i = 0; i < right.size(); ++i)
        transposed[i % 32 * columns + i / 32] = right[i];
      write(p.b, transposed);
    } else {
      write(p.b, right);
    }
    write(p.vector, bias);
    write(p.aux, given);
    ASSERT_EQ(run(p), kOk) << kind;
    const bool takesBias = (kind & CUBLASLT_EPILOGUE_BIAS) != 0;
    std::vector<double> vector(kind == CUBLASLT_EPILOGUE_BGRADB ? columns
                                                                : rows);
    std::vector<double> aux(given.begin(), given.end());
    const std::vector<float> got = read(p.d, number);
    for (size_t column = 0; column < columns; ++column)
      for (size_t row = 0; row < rows; ++row) {
        double value = takesBias ? bias[row] : 0;
        for (size_t step = 0; step < 32; ++step)
          value += double(left[step * rows + row]) * right[column * 32 + step];
        double &beside = aux[column * 24 + row];
        if (kind == CUBLASLT_EPILOGUE_GELU_AUX ||
            kind == CUBLASLT_EPILOGUE_GELU_AUX_BIAS)
          beside = value;
        if (kind & 2)
          value = std::max(value, 0.0);
        if (kind & 32)
          value = gelu(value);
        if (kind & 64)
          value *= (gelu(beside + 1e-5) - gelu(beside - 1e-5)) / 2e-5;
        EXPECT_NEAR(got[column * rows + row], value, 1e-5) << kind;
        if (kind == CUBLASLT_EPILOGUE_DGELU_BGRAD)
          vector[row] += value;
      }
    for (size_t step = 0; step < 32; ++step)
      for (size_t i = 0; i < vector.size(); ++i)
        vector[i] += kind == CUBLASLT_EPILOGUE_BGRADA   ? left[step * rows + i]
                     : kind == CUBLASLT_EPILOGUE_BGRADB ? right[i * 32 + step]
                                                        : 0;
    const std::vector<float> gotVector = read(p.vector, vector.size()),
                             gotAux = read(p.aux, aux.size());
    const bool writesVector = (kind & (16 | 256 | 512)) != 0;
    for (size_t i = 0; i < vector.size(); ++i)
      EXPECT_NEAR(gotVector[i], writesVector ? vector[i] : bias[i], 1e-4)
          << kind;
    for (size_t i = 0; i < aux.size(); ++i)
      EXPECT_NEAR(gotAux[i], aux[i], 1e-5) << kind;
    EXPECT_TRUE(faults.empty()) << faults[0];
  }
}

TEST_F(CublasLt, RoundsFactorsToTf32) {
  const auto multiply = [&](cublasComputeType_t compute) {
    begin("");
    // 2^-11 beside 1, which TF32 rounds away from 0; and less, which it drops.
    std::vector<float> left(16 * 32), right(12 * 32);
    left[0] = 1 + std::ldexp(1.0f, -11);
    right[0] = 1 + std::ldexp(1.0f, -12);
    Product p;
    p.compute = compute;
    driver.cuMemcpyHtoDAsync(block + p.a, left.data(), left.size() * 4, one);
    driver.cuMemcpyHtoDAsync(block + p.b, right.data(), right.size() * 4, one);
    EXPECT_EQ(run(p), kOk);
    return read(p.d, 1)[0];
  };
  EXPECT_EQ(multiply(CUBLAS_COMPUTE_32F_FAST_TF32), 1 + std::ldexp(1.0f, -10));
  EXPECT_EQ(multiply(CUBLAS_COMPUTE_32F),
            (1 + std::ldexp(1.0f, -11)) * (1 + std::ldexp(1.0f, -12)));
  Product p;
  p.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  p.in = CUDA_R_16BF;
  EXPECT_EQ(choose(p), kUnsupported);
}

TEST_F(CublasLt, RefusesEpiloguesThatDoNotFit) {
  const auto expect = [&](int result, uint32_t kind, auto change) {
    begin("");
    Product p;
    p.epilogue = kind;
    p.vector = 24576;
    p.aux = 32768;
    change(p);
    EXPECT_EQ(run(p), result) << kind;
  };
  const auto nothing = [](Product &) {};
  expect(kValue, 12345, nothing);
  expect(kOk, CUBLASLT_EPILOGUE_BIAS, nothing);
  expect(kValue, CUBLASLT_EPILOGUE_BIAS, [](Product &p) { p.vector = 0; });
  expect(kUnsupported, CUBLASLT_EPILOGUE_BIAS,
         [](Product &p) { p.vectorType = CUDA_R_16BF; });
  expect(kOk, CUBLASLT_EPILOGUE_BIAS,
         [](Product &p) { p.vectorType = CUDA_R_32F; });
  expect(kOk, CUBLASLT_EPILOGUE_GELU_AUX, nothing);
  expect(kValue, CUBLASLT_EPILOGUE_GELU_AUX, [](Product &p) { p.aux = 0; });
  expect(kValue, CUBLASLT_EPILOGUE_GELU_AUX,
         [](Product &p) { p.auxLeading = 20; });
  expect(kValue, CUBLASLT_EPILOGUE_GELU_AUX,
         [](Product &p) { p.auxLeading = 8; });
  expect(kUnsupported, CUBLASLT_EPILOGUE_GELU_AUX,
         [](Product &p) { p.auxType = CUDA_R_16BF; });
  expect(kUnsupported, CUBLASLT_EPILOGUE_BGRADB, nothing);
  expect(kUnsupported, CUBLASLT_EPILOGUE_DGELU,
         [](Product &p) { p.k = p.rowsB = 1; });
  expect(kUnsupported, CUBLASLT_EPILOGUE_GELU, [](Product &p) {
    p.in = p.out = p.scale = CUDA_R_64F, p.compute = CUBLAS_COMPUTE_64F;
  });
  EXPECT_TRUE(faults.empty());
  expect(CUBLAS_STATUS_EXECUTION_FAILED, CUBLASLT_EPILOGUE_GELU_AUX,
         [](Product &p) { p.aux += 4; });
  expectFault("for its epilogue that is not aligned");
  expect(CUBLAS_STATUS_EXECUTION_FAILED, CUBLASLT_EPILOGUE_BIAS,
         [](Product &p) { p.vector += 4; });
  expectFault("for its epilogue that is not aligned");
  expect(CUBLAS_STATUS_EXECUTION_FAILED, CUBLASLT_EPILOGUE_GELU_AUX,
         [](Product &p) { p.aux = p.d; });
  expectFault("is given an auxiliary matrix in the bytes of D");
  expect(CUBLAS_STATUS_EXECUTION_FAILED, CUBLASLT_EPILOGUE_BGRADA,
         [](Product &p) { p.vector = p.d; });
  expectFault("is given a bias in the bytes of D");
}

TEST_F(CublasLt, ChoosesByWhereTheVectorOfAnEpilogueIs) {
  Product p;
  p.epilogue = CUBLASLT_EPILOGUE_BIAS;
  EXPECT_EQ(choose(p), kValue) << "nowhere";
  p.vector = 24576;
  ASSERT_EQ(choose(p), kOk);
  EXPECT_EQ(multiply(p, one), kOk);
  const CUdeviceptr less = block + p.vector + 16;
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

TEST_F(CublasLt, IsReplayedWithItsGraph) {
  for (int seed = 0; seed < 16; ++seed) {
    begin("seed " + std::to_string(seed) + "\n");
    Product p;
    p.beta = 1; // each replay adds once more
    ASSERT_EQ(choose(p), kOk);
    const std::vector<float> before = read(p.d, 16 * 12);
    CUgraph graph = nullptr;
    CUgraphExec execution = nullptr;
    driver.cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    ASSERT_EQ(multiply(p, one), kOk);
    ASSERT_EQ(driver.cuStreamEndCapture(one, &graph), CUDA_SUCCESS);
    driver.cuGraphInstantiateWithFlags(&execution, graph, 0);
    EXPECT_EQ(read(p.d, 16 * 12), before);
    for (int launch = 0; launch < 2; ++launch)
      ASSERT_EQ(driver.cuGraphLaunch(execution, one), CUDA_SUCCESS);
    driver.cuStreamSynchronize(one);
    const std::vector<float> got = read(p.d, 16 * 12);
    // Another two, given to the stream itself.
    driver.cuMemcpyHtoDAsync(block + p.d, before.data(), before.size() * 4,
                             one);
    ASSERT_EQ(multiply(p, one), kOk);
    ASSERT_EQ(multiply(p, one), kOk);
    EXPECT_EQ(read(p.d, 16 * 12), got);
    EXPECT_TRUE(faults.empty()) << faults[0];
  }
}

TEST_F(CublasLt, HasEveryNameOfTheLibrary) {
  void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
  std::ifstream list(PP_EXPORTS_LIST);
  int number = 0;
  for (std::string name; std::getline(list, name); ++number)
    EXPECT_TRUE(dlsym(library, name.c_str())) << name;
  EXPECT_EQ(number, 184);
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

TEST_F(CublasLt, NeedsAContext) {
  Product p;
  ASSERT_EQ(choose(p), kOk);
  driver.cuCtxSetCurrent(nullptr);
  cublasLtHandle_t another;
  EXPECT_EQ(blas.cublasLtCreate(&another), kClosed);
  EXPECT_EQ(multiply(p, one), kClosed);
}

TEST_F(CublasLt, NamesWhatIsNotModelled) {
  // Each in a process of its own.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Product p;
  ASSERT_EQ(choose(p), kOk);
  EXPECT_DEATH(multiply(p, one, 99),
               "not modelled: cublasLtMatmul without an algorithm");
  const uint64_t plane = 8;
  blas.cublasLtMatrixLayoutSetAttribute(a, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET,
                                        &plane, 8);
  EXPECT_DEATH(multiply(p, one), "not modelled: attribute 7 of a layout");
  p.compute = CUBLAS_COMPUTE_32F_FAST_16BF;
  EXPECT_DEATH(choose(p), "not modelled: the compute type 75");
  p.compute = CUBLAS_COMPUTE_32F;
  p.epilogue = CUBLASLT_EPILOGUE_RELU_AUX;
  EXPECT_DEATH(choose(p), "not modelled: epilogue 130");
  void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
  auto *unknown =
      reinterpret_cast<void (*)()>(dlsym(library, "cublasLtMatrixTransform"));
  ASSERT_TRUE(unknown);
  EXPECT_DEATH(unknown(), "not modelled: cublasLtMatrixTransform");
}
