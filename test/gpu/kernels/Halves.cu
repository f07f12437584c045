//===- Halves.cu - f16 and bf16, one and two at a time --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Kernel.h"

/// Of two numbers and two more: what `name2` makes of both pairs.
#define PAIRS(name, T, Pair, pair, low, high, expression)                      \
  KERNEL(name, flat(),                                                         \
         (out<T>(2 * kCount), in<T>(2 * kCount), in<T>(2 * kCount),            \
          in<T>(2 * kCount)),                                                  \
         (T * results, const T *as, const T *bs, const T *cs)) {               \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    const Pair a = pair(as[i], as[i + kCount]);                                \
    const Pair b = pair(bs[i], bs[i + kCount]);                                \
    const Pair c = pair(cs[i], cs[i + kCount]);                                \
    const Pair result = expression;                                            \
    results[i] = low(result);                                                  \
    results[i + kCount] = high(result);                                        \
  }
#ifdef __CUDACC__
constexpr int kCount = 1024;
#endif

#define EACH(T, Pair, ...)                                                     \
  MAP2(add_##T, T, T, T, __hadd(a, b))                                         \
  MAP2(subtract_##T, T, T, T, __hsub(a, b))                                    \
  MAP2(multiply_##T, T, T, T, __hmul(a, b))                                    \
  MAP3(fused_##T, T, T, T, T, __hfma(a, b, c))                                 \
  MAP2(saturated_sum_##T, T, T, T, __hadd_sat(a, b))                           \
  MAP2(saturated_product_##T, T, T, T, __hmul_sat(a, b))                       \
  MAP3(saturated_fused_##T, T, T, T, T, __hfma_sat(a, b, c))                   \
  MAP3(fused_relu_##T, T, T, T, T, __hfma_relu(a, b, c))                       \
  MAP1(negate_##T, T, T, __hneg(a))                                            \
  MAP1(absolute_##T, T, T, __habs(a))                                          \
  MAP2(least_##T, T, T, T, __hmin(a, b))                                       \
  MAP2(most_##T, T, T, T, __hmax(a, b))                                        \
  MAP2(least_or_nan_##T, T, T, T, __hmin_nan(a, b))                            \
  MAP2(most_or_nan_##T, T, T, T, __hmax_nan(a, b))                             \
  MAP2(compare_##T, u8, T, T,                                                  \
       __hlt(a, b) | __hle(a, b) << 1 | __hgt(a, b) << 2 | __hge(a, b) << 3 |  \
           __heq(a, b) << 4 | __hne(a, b) << 5)                                \
  MAP2(compare_unordered_##T, u8, T, T,                                        \
       __hltu(a, b) | __hleu(a, b) << 1 | __hgtu(a, b) << 2 |                  \
           __hgeu(a, b) << 3 | __hequ(a, b) << 4 | __hneu(a, b) << 5)          \
  MAP1(class_##T, u8, T, __hisnan(a) | (__hisinf(a) + 1) << 1)                 \
  MAP1(floor_##T, T, T, hfloor(a))                                             \
  MAP1(ceil_##T, T, T, hceil(a))                                               \
  MAP1(trunc_##T, T, T, htrunc(a))                                             \
  MAP1(rint_##T, T, T, hrint(a))                                               \
  MAP2(branch_##T, T, T, T, __hlt(a, b) ? __hadd(a, b) : __hmul(a, b))         \
  PAIRS(add2_##T, T, Pair, __VA_ARGS__, __hadd2(a, b))                         \
  PAIRS(subtract2_##T, T, Pair, __VA_ARGS__, __hsub2(a, b))                    \
  PAIRS(multiply2_##T, T, Pair, __VA_ARGS__, __hmul2(a, b))                    \
  PAIRS(fused2_##T, T, Pair, __VA_ARGS__, __hfma2(a, b, c))                    \
  PAIRS(negate2_##T, T, Pair, __VA_ARGS__, __hneg2(a))                         \
  PAIRS(absolute2_##T, T, Pair, __VA_ARGS__, __habs2(a))                       \
  PAIRS(least2_##T, T, Pair, __VA_ARGS__, __hmin2(a, b))                       \
  PAIRS(most2_##T, T, Pair, __VA_ARGS__, __hmax2(a, b))                        \
  PAIRS(equal2_##T, T, Pair, __VA_ARGS__, __heq2(a, b))                        \
  PAIRS(less2_##T, T, Pair, __VA_ARGS__, __hlt2(a, b))                         \
  PAIRS(more_or_equal2_##T, T, Pair, __VA_ARGS__, __hge2(a, b))
EACH(f16, __half2, __halves2half2, __low2half, __high2half)
EACH(bf16, __nv_bfloat162, __halves2bfloat162, __low2bfloat16, __high2bfloat16)

// Sums in f32 of products of bf16, as every kernel of a model has them.
KERNEL(dot_bf16, launch(4, 64), (out<f32>(256), in<bf16>(4096, -4, 4), in<bf16>(4096, -4, 4)),
       (f32 * results, const bf16 *as, const bf16 *bs)) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  f32 sum = 0;
  for (int k = 0; k < 16; ++k)
    sum = fmaf(__bfloat162float(as[i * 16 + k]), __bfloat162float(bs[i * 16 + k]), sum);
  results[i] = sum;
}
