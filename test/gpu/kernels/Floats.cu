//===- Floats.cu - f32 and f64, with all that is special about them -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Products are not fused into sums but by fma.
//
//===----------------------------------------------------------------------===//
#include "Kernel.h"

// `s` is the end of the names of C's functions of this type.
#define EACH(T, s)                                                             \
  MAP2(add_##T, T, T, T, a + b)                                                \
  MAP2(subtract_##T, T, T, T, a - b)                                           \
  MAP2(multiply_##T, T, T, T, a *b)                                            \
  MAP2(divide_##T, T, T, T, a / b)                                             \
  MAP3(product_and_sum_##T, T, T, T, T, a *b + c)                              \
  MAP3(fused_##T, T, T, T, T, fma##s(a, b, c))                                 \
  MAP3(fused_negated_##T, T, T, T, T, fma##s(-a, b, -c))                       \
  MAP1(square_root_##T, T, T, sqrt##s(a))                                      \
  MAP1(reciprocal_##T, T, T, T(1) / a)                                         \
  MAP1(negate_##T, T, T, -a)                                                   \
  MAP1(absolute_##T, T, T, fabs##s(a))                                         \
  MAP2(copysign_##T, T, T, T, copysign##s(a, b))                               \
  MAP2(least_##T, T, T, T, fmin##s(a, b))                                      \
  MAP2(most_##T, T, T, T, fmax##s(a, b))                                       \
  MAP2(compare_##T, u8, T, T,                                                  \
       (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 |                \
           (a == b) << 4 | (a != b) << 5)                                      \
  MAP2(compare_not_##T, u8, T, T,                                              \
       !(a < b) | !(a <= b) << 1 | !(a > b) << 2 | !(a >= b) << 3)             \
  MAP3(select_##T, T, T, T, T, a < b ? c : !(b > c) ? a : b)                   \
  MAP3(branch_##T, T, T, T, T, a <= b && b != c ? c : a == c || b > a ? b : a) \
  MAP1(class_##T, u8, T,                                                       \
       (isnan(a) ? 1 : 0) | (isinf(a) ? 2 : 0) | (isfinite(a) ? 4 : 0) |       \
           (signbit(a) ? 8 : 0))                                               \
  MAP1(floor_##T, T, T, floor##s(a))                                           \
  MAP1(ceil_##T, T, T, ceil##s(a))                                             \
  MAP1(trunc_##T, T, T, trunc##s(a))                                           \
  MAP1(rint_##T, T, T, rint##s(a))                                             \
  MAP1(round_##T, T, T, round##s(a))                                           \
  MAP2(fmod_##T, T, T, T, fmod##s(a, b))                                       \
  MAP2(ieee_remainder_##T, T, T, T, remainder##s(a, b))                        \
  MAP2(fdim_##T, T, T, T, fdim##s(a, b))                                       \
  MAP2(ldexp_##T, T, T, s8, ldexp##s(a, b))                                    \
  MAP1(logb_##T, T, T, logb##s(a))                                             \
  MAP2(nextafter_##T, T, T, T, nextafter##s(a, b))                             \
  KERNEL(frexp_##T, flat(),                                                    \
         (out<T>(kCount), out<s32>(kCount), in<T>(kCount)),                    \
         (T * fractions, s32 * exponents, const T *as)) {                      \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    int exponent = 0;                                                          \
    fractions[i] = frexp##s(as[i], &exponent);                                 \
    exponents[i] = isfinite(as[i]) ? exponent : 0;                             \
  }                                                                            \
  KERNEL(modf_##T, flat(), (out<T>(kCount), out<T>(kCount), in<T>(kCount)),    \
         (T * fractions, T * wholes, const T *as)) {                           \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    T whole = 0;                                                               \
    fractions[i] = modf##s(as[i], &whole);                                     \
    wholes[i] = whole;                                                         \
  }                                                                            \
  MAP3(horner_##T, T, T, T, T, ((a * b + c) * b - a) * b + T(0.375))           \
  MAP3(quadratic_##T, T, T, T, T, (sqrt##s(fabs##s(b * b - 4 * a * c)) - b) / (2 * a))
EACH(f32, f)
EACH(f64, )
MAP1(saturate_f32, f32, f32, __saturatef(a))
MAP2(saturated_sum_f32, f32, f32, f32, __saturatef(a + b))
MAP3(saturated_fused_f32, f32, f32, f32, f32, __saturatef(fmaf(a, b, c)))

#define ROUNDED(T, letter, fused, mode)                                        \
  MAP2(add_##T##_##mode, T, T, T, __##letter##add_##mode(a, b))                \
  MAP2(subtract_##T##_##mode, T, T, T, __##letter##sub_##mode(a, b))           \
  MAP2(multiply_##T##_##mode, T, T, T, __##letter##mul_##mode(a, b))           \
  MAP2(divide_##T##_##mode, T, T, T, __##letter##div_##mode(a, b))             \
  MAP1(reciprocal_##T##_##mode, T, T, __##letter##rcp_##mode(a))               \
  MAP1(square_root_##T##_##mode, T, T, __##letter##sqrt_##mode(a))             \
  MAP3(fused_##T##_##mode, T, T, T, T, fused##mode(a, b, c))
#define ROUNDINGS(T, letter, fused)                                            \
  ROUNDED(T, letter, fused, rn) ROUNDED(T, letter, fused, rz)                  \
  ROUNDED(T, letter, fused, ru) ROUNDED(T, letter, fused, rd)
ROUNDINGS(f32, f, __fmaf_)
ROUNDINGS(f64, d, __fma_)
