//===- Integers.cu - integers of every width ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What C++ leaves open (a sum that does not fit, a division by 0) is not met:
// the host is compiled with -fwrapv, and divisors are made to be others.
//
//===----------------------------------------------------------------------===//
#include "Kernel.h"

template <typename T> __device__ T quotient(T a, T b) {
  return b == 0 ? a : b == T(-1) ? T(-a) : T(a / b);
}
template <typename T> __device__ T remainder(T a, T b) {
  return b == 0 || b == T(-1) ? T(0) : T(a % b);
}

#define EACH(T)                                                                \
  MAP2(add_##T, T, T, T, T(a + b))                                             \
  MAP2(subtract_##T, T, T, T, T(a - b))                                        \
  MAP2(multiply_##T, T, T, T, T(a *b))                                         \
  MAP3(multiply_add_##T, T, T, T, T, T(a *b + c))                              \
  MAP2(divide_##T, T, T, T, quotient(a, b))                                    \
  MAP2(remainder_##T, T, T, T, remainder(a, b))                                \
  MAP2(and_or_xor_##T, T, T, T, T((a & b) ^ (a | T(5)) ^ ~b))                  \
  MAP2(least_##T, T, T, T, a < b ? a : b)                                      \
  MAP2(most_##T, T, T, T, a > b ? a : b)                                       \
  MAP1(negate_##T, T, T, T(-a))                                                \
  MAP1(absolute_##T, T, T, a < T(0) ? T(-a) : a)                               \
  MAP2(left_##T, T, T, u8, T(a << (b & (sizeof(T) * 8 - 1))))                  \
  MAP2(right_##T, T, T, u8, T(a >> (b & (sizeof(T) * 8 - 1))))                 \
  MAP2(compare_##T, u8, T, T,                                                  \
       (a < b) | (a <= b) << 1 | (a > b) << 2 | (a >= b) << 3 |                \
           (a == b) << 4 | (a != b) << 5)                                      \
  MAP3(select_##T, T, T, T, T, a < b && b != c ? c : a == c || b > a ? b : a)
INTEGERS(EACH)

/// Only the least number has no opposite.
#define BY_MINUS_1(T, U)                                                       \
  MAP2(divide_by_minus_1_or_2_##T, T, T, T,                                    \
       T(U(a) << 1) == 0 ? T(0) : T(a / (b % 2 ? T(-1) : T(-2))))              \
  MAP2(remainder_by_minus_1_or_2_##T, T, T, T,                                 \
       T(U(a) << 1) == 0 ? T(0) : T(a % (b % 2 ? T(-1) : T(-2))))
BY_MINUS_1(s16, u16)
BY_MINUS_1(s32, u32)
BY_MINUS_1(s64, u64)
