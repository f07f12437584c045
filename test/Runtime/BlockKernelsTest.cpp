//===- BlockKernelsTest.cpp - every instruction set computes the same -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// ContractionTest sees the kernels of this machine only; this one runs all that
// the machine can.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/BlockKernelTables.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using namespace pprt;
using namespace pprt::cpu;

namespace {

template <typename T>
constexpr ppx::ElementType kElement =
    sizeof(T) == 8 ? ppx::ElementType_f64 : ppx::ElementType_f32;

template <typename T>
StridedInput input(const std::vector<T> &data, uint64_t rowStride,
                   uint64_t columnStride) {
  return {reinterpret_cast<const std::byte *>(data.data()), kElement<T>,
          rowStride, columnStride};
}

/// Small integers: every order of additions is exact.
template <typename T> std::vector<T> values(uint64_t count) {
  std::vector<T> result(count);
  for (uint64_t i = 0; i < count; ++i)
    result[i] = T(int(i * 7 % 13) - 6);
  return result;
}

uint64_t roundUp(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

template <typename T> void check(const BlockKernels<T> &kernels) {
  constexpr uint64_t m = 29, n = 75, k = 37;
  const std::vector<T> a = values<T>(m * k), b = values<T>(k * n);
  for (bool packed : {false, true})
    for (bool transposedA : {false, true})
      for (bool transposedB : {false, true})
        for (bool add : {false, true}) {
          if (transposedA && !packed)
            continue;
          const StridedInput lhs =
              transposedA ? input(a, 1, m) : input(a, k, 1);
          // Columns of rhs are packed as rows.
          const StridedInput rhs =
              transposedB ? input(b, k, 1) : input(b, 1, n);
          std::vector<T> left(roundUp(m, kernels.tileRows) * k);
          std::vector<T> right(roundUp(n, kernels.tileColumns) * k);
          std::vector<T> out = values<T>(m * n), expected = out;
          kernels.pack(lhs, m, k, kernels.tileRows, T(1), left.data());
          kernels.pack(rhs, n, k, kernels.tileColumns, T(2), right.data());
          Panels<T> panels = {left.data(), kernels.tileRows * k, 1,
                              kernels.tileRows};
          if (!packed)
            panels = {a.data(), kernels.tileRows * k, k, 1};
          kernels.multiply(m, n, k, panels, right.data(), out.data(), n, add);
          for (uint64_t i = 0; i < m; ++i)
            for (uint64_t j = 0; j < n; ++j) {
              T sum = add ? expected[i * n + j] : T(0);
              for (uint64_t l = 0; l < k; ++l)
                sum += a[i * lhs.rowStride + l * lhs.columnStride] * 2 *
                       b[j * rhs.rowStride + l * rhs.columnStride];
              ASSERT_EQ(out[i * n + j], sum) << kernels.name;
            }
        }
}

template <typename T> void checkTanh(const BlockKernels<T> &kernels) {
  for (double x = -12; x <= 12; x += 0.01) {
    T value = T(x);
    kernels.finish(ppx::EpilogueKind_tanh, {}, 1, 1, &value, 1);
    ASSERT_NEAR(value, std::tanh(x), sizeof(T) == 8 ? 1e-15 : 3e-7)
        << kernels.name << " at " << x;
  }
}

TEST(BlockKernels, EveryInstructionSetIsExactOnIntegers) {
  check(generic::floatKernels);
  check(generic::doubleKernels);
  checkTanh(generic::floatKernels);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    check(avx2::floatKernels);
    check(avx2::doubleKernels);
    checkTanh(avx2::floatKernels);
    checkTanh(avx2::doubleKernels);
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
    check(avx512::floatKernels);
    check(avx512::doubleKernels);
    checkTanh(avx512::floatKernels);
  }
#endif
}

TEST(BlockKernels, ScratchDoesNotDependOnTheInstructionSet) {
  // The contraction rounds its blocks to 12 rows and 32 columns.
  for (const auto *kernels : {&generic::floatKernels,
#if defined(__x86_64__)
                              &avx2::floatKernels, &avx512::floatKernels
#endif
       }) {
    EXPECT_EQ(12 % kernels->tileRows, 0u);
    EXPECT_EQ(32 % kernels->tileColumns, 0u);
  }
}

} // namespace
