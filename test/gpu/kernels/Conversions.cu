//===- Conversions.cu - every pair of types, in every rounding ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Kernel.h"

#define PAIR(To, From) MAP1(From##_to_##To, To, From, To(a))
#define FROM_INTEGER(From)                                                     \
  PAIR(s8, From) PAIR(s16, From) PAIR(s32, From) PAIR(s64, From)               \
  PAIR(u8, From) PAIR(u16, From) PAIR(u32, From) PAIR(u64, From)               \
  PAIR(f32, From) PAIR(f64, From)                                              \
  MAP1(From##_to_bool, u8, From, a ? 3 : 5)
INTEGERS(FROM_INTEGER)

// C++ leaves open what becomes of a number that does not fit.
#define WITHIN(To, From, low, high)                                            \
  MAP1(From##_to_##To, To, From, a > From(low) && a < From(high) ? To(a) : To(0))
#define FROM_FLOAT(From)                                                       \
  WITHIN(s8, From, -129, 128) WITHIN(u8, From, -1, 256)                        \
  WITHIN(s16, From, -32769, 32768) WITHIN(u16, From, -1, 65536)                \
  WITHIN(s32, From, -2147483648.0, 2147483648.0)                               \
  WITHIN(u32, From, -1, 4294967296.0)                                          \
  WITHIN(s64, From, -9223372036854775808.0, 9223372036854775808.0)             \
  WITHIN(u64, From, -1, 18446744073709551616.0)
FROM_FLOAT(f32)
FROM_FLOAT(f64)
PAIR(f64, f32)
PAIR(f32, f64)

#define ROUNDINGS(X, ...)                                                      \
  X(__VA_ARGS__, rn) X(__VA_ARGS__, rz) X(__VA_ARGS__, ru) X(__VA_ARGS__, rd)
#define ROUNDED(to, To, from, From, mode)                                      \
  MAP1(from##_to_##to##_##mode, To, From, __##from##2##to##_##mode(a))
#define FLOAT_ROUNDED(from, From)                                              \
  ROUNDINGS(ROUNDED, int, s32, from, From)                                     \
  ROUNDINGS(ROUNDED, uint, u32, from, From)                                    \
  ROUNDINGS(ROUNDED, ll, s64, from, From)                                      \
  ROUNDINGS(ROUNDED, ull, u64, from, From)
FLOAT_ROUNDED(float, f32)
FLOAT_ROUNDED(double, f64)
ROUNDINGS(ROUNDED, float, f32, double, f64)
ROUNDINGS(ROUNDED, float, f32, int, s32)
ROUNDINGS(ROUNDED, float, f32, uint, u32)
ROUNDINGS(ROUNDED, float, f32, ll, s64)
ROUNDINGS(ROUNDED, float, f32, ull, u64)
ROUNDINGS(ROUNDED, double, f64, ll, s64)
ROUNDINGS(ROUNDED, double, f64, ull, u64)

#define SMALL_ROUNDED(small, Small)                                            \
  FLOAT_ROUNDED(small, Small)                                                  \
  ROUNDINGS(ROUNDED, short, s16, small, Small)                                 \
  ROUNDINGS(ROUNDED, ushort, u16, small, Small)                                \
  ROUNDINGS(ROUNDED, small, Small, short, s16)                                 \
  ROUNDINGS(ROUNDED, small, Small, ushort, u16)                                \
  ROUNDINGS(ROUNDED, small, Small, int, s32)                                   \
  ROUNDINGS(ROUNDED, small, Small, uint, u32)                                  \
  ROUNDINGS(ROUNDED, small, Small, ll, s64)                                    \
  ROUNDINGS(ROUNDED, small, Small, ull, u64)                                   \
  ROUNDINGS(ROUNDED, small, Small, float, f32)                                 \
  MAP1(double_to_##small, Small, f64, __double2##small(a))
SMALL_ROUNDED(half, f16)
SMALL_ROUNDED(bfloat16, bf16)
MAP1(half_to_float, f32, f16, __half2float(a))
MAP1(bfloat16_to_float, f32, bf16, __bfloat162float(a))

MAP1(float_bits, u32, f32, __float_as_uint(a) ^ 1u << 31)
MAP1(bits_float, f32, u32, __uint_as_float(a ^ 0x80u))
MAP1(double_bits, s64, f64, __double_as_longlong(a) + 1)
MAP1(bits_double, f64, s64, __longlong_as_double(a ^ 0x100))
MAP1(double_upper, s32, f64, __double2hiint(a) ^ __double2loint(a))
MAP2(double_of_halves, f64, s32, s32, __hiloint2double(a, b))
