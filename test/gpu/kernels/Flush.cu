//===- Flush.cu - f32 whose denormal numbers are 0 ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For the device the whole of it is compiled so (-ftz=true); for the host what
// goes in and what comes out is made 0 here, with its sign.
//
//===----------------------------------------------------------------------===//
#include "Kernel.h"

#ifdef __CUDACC__
__device__ inline f32 flushed(f32 x) { return x; }
#else
static f32 flushed(f32 x) { return x != 0 && fabsf(x) < 1.17549435e-38f ? copysignf(0.0f, x) : x; }
#endif

/// Numbers near the smallest normal one: sums, products and quotients of them
/// are on both sides of it.
#define FLUSHED(name, R, expression)                                           \
  KERNEL(flushed_##name, flat(),                                               \
         (out<R>(kCount), in<f32>(kCount), in<u32>(kCount), in<f32>(kCount)),  \
         (R * results, const f32 *as, const u32 *bs, const f32 *cs)) {         \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    const f32 a = flushed(as[i]);                                              \
    const f32 b = flushed(__uint_as_float(bs[i] & 0x82FFFFFF));                \
    const f32 c = flushed(i % 2 ? cs[i] : __uint_as_float(bs[i ^ 1] & 0x80FFFFFF)); \
    results[i] = expression;                                                   \
  }
FLUSHED(sum, f32, flushed(b + c))
FLUSHED(difference, f32, flushed(b - c))
FLUSHED(product, f32, flushed(a *b))
FLUSHED(fused, f32, flushed(fmaf(a, b, c)))
FLUSHED(least, f32, flushed(fminf(b, c)))
FLUSHED(most, f32, flushed(fmaxf(b, c)))
FLUSHED(compare, u8, (b < c) | (b <= c) << 1 | (b == 0.0f) << 2 | (c > 0.0f) << 3 | (b != c) << 4)
FLUSHED(to_double, f64, f64(b))
FLUSHED(to_integer, s32, fabsf(c) < 1e9f ? __float2int_ru(c) : 0)
FLUSHED(from_double, f32, flushed(f32(f64(b) * f64(c))))
FLUSHED(floor, f32, flushed(floorf(c)))
FLUSHED(ceil, f32, flushed(ceilf(c)))
FLUSHED(saturated, f32, flushed(__saturatef(b + a)))
FLUSHED(sum_towards_0, f32, flushed(__fadd_rz(b, c)))
FLUSHED(product_upwards, f32, flushed(__fmul_ru(a, b)))
FLUSHED(quotient, f32, flushed(b / a))
FLUSHED(root, f32, flushed(sqrtf(fabsf(b))))
FLUSHED(reciprocal, f32, flushed(__frcp_rn(a)))
