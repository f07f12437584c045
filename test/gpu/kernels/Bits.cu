//===- Bits.cu - CUDA's functions of integers, and wider ones -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Kernel.h"

MAP1(count_leading_zeros, s32, s32, __clz(a))
MAP1(count_leading_zeros_64, s32, s64, __clzll(a))
MAP1(population, s32, u32, __popc(a))
MAP1(population_64, s32, u64, __popcll(a))
MAP1(find_first, s32, s32, __ffs(a))
MAP1(find_first_64, s32, s64, __ffsll(a))
MAP1(reverse_bits, u32, u32, __brev(a))
MAP1(reverse_bits_64, u64, u64, __brevll(a))
MAP3(permute_bytes, u32, u32, u32, u32, __byte_perm(a, b, c))
MAP2(permute_bytes_of_a_kind, u32, u32, u32, __byte_perm(a, b, 0x0123) ^ __byte_perm(b, a, 0x7250))
MAP3(funnel_left, u32, u32, u32, u8, __funnelshift_l(a, b, c))
MAP3(funnel_right, u32, u32, u32, u8, __funnelshift_r(a, b, c))
MAP3(funnel_left_clamped, u32, u32, u32, u8, __funnelshift_lc(a, b, c))
MAP3(funnel_right_clamped, u32, u32, u32, u8, __funnelshift_rc(a, b, c))
MAP2(rotate, u32, u32, u8, a << (b & 31) | a >> (-b & 31))
MAP2(rotate_64, u64, u64, u8, a << (b & 63) | a >> (-b & 63))
MAP2(upper_product_s32, s32, s32, s32, __mulhi(a, b))
MAP2(upper_product_u32, u32, u32, u32, __umulhi(a, b))
MAP2(upper_product_s64, s64, s64, s64, __mul64hi(a, b))
MAP2(upper_product_u64, u64, u64, u64, __umul64hi(a, b))
MAP2(product_of_24_bits, s32, s32, s32, __mul24(a, b))
MAP2(product_of_24_bits_unsigned, u32, u32, u32, __umul24(a, b))
MAP3(sum_of_distance_s32, u32, s32, s32, u32, __sad(a, b, c))
MAP3(sum_of_distance_u32, u32, u32, u32, u32, __usad(a, b, c))
MAP2(mean_s32, s32, s32, s32, __hadd(a, b))
MAP2(mean_rounded_s32, s32, s32, s32, __rhadd(a, b))
MAP2(mean_u32, u32, u32, u32, __uhadd(a, b))
MAP2(mean_rounded_u32, u32, u32, u32, __urhadd(a, b))
MAP3(dot_of_bytes_s32, s32, s32, s32, s32, __dp4a(a, b, c))
MAP3(dot_of_bytes_u32, u32, u32, u32, u32, __dp4a(a, b, c))
MAP3(dot_of_halves_s32, s32, s32, s32, s32, __dp2a_lo(a, b, c))
MAP3(dot_of_halves_u32, u32, u32, u32, u32, __dp2a_hi(a, b, c))
MAP2(least_s32_by_name, s32, s32, s32, min(a, b))
MAP2(most_u64_by_name, u64, u64, u64, max(a, b))

// Fields of bits, which compilers make of shifts and masks or take as they are.
MAP1(field_signed, s32, s32, a << 7 >> 20)
MAP1(field_unsigned, u32, u32, a >> 11 & 0x1FF)
MAP2(field_inserted, u32, u32, u32, (a & ~0x3F0u) | (b & 0x3F) << 4)
MAP1(field_signed_64, s64, s64, a << 9 >> 40)
#ifdef __CUDACC__
/// By their own instructions: no C++ names them.
#define IN_PTX(name, T, U, opcode, constraint)                                 \
  __device__ T name(U a, u32 position, u32 length) {                           \
    T result;                                                                  \
    asm(opcode " %0, %1, %2, %3;"                                              \
        : "=" constraint(result)                                               \
        : constraint(a), "r"(position), "r"(length));                          \
    return result;                                                             \
  }
IN_PTX(extract, u32, u32, "bfe.u32", "r")
IN_PTX(extract, s32, s32, "bfe.s32", "r")
IN_PTX(extract, u64, u64, "bfe.u64", "l")
IN_PTX(extract, s64, s64, "bfe.s64", "l")
#define INSERT_IN_PTX(T, opcode, constraint)                                   \
  __device__ T insert(T a, T into, u32 position, u32 length) {                 \
    T result;                                                                  \
    asm(opcode " %0, %1, %2, %3, %4;"                                          \
        : "=" constraint(result)                                               \
        : constraint(a), constraint(into), "r"(position), "r"(length));        \
    return result;                                                             \
  }
INSERT_IN_PTX(u32, "bfi.b32", "r")
INSERT_IN_PTX(u64, "bfi.b64", "l")
#define FIND_IN_PTX(name, T, opcode, constraint)                               \
  __device__ u32 name(T a) {                                                   \
    u32 result;                                                                \
    asm(opcode " %0, %1;" : "=r"(result) : constraint(a));                     \
    return result;                                                             \
  }
FIND_IN_PTX(findLast, u32, "bfind.u32", "r")
FIND_IN_PTX(findLast, s32, "bfind.s32", "r")
FIND_IN_PTX(findLast, u64, "bfind.u64", "l")
FIND_IN_PTX(findLast, s64, "bfind.s64", "l")
FIND_IN_PTX(shiftOfLast, u32, "bfind.shiftamt.u32", "r")
FIND_IN_PTX(shiftOfLast, s64, "bfind.shiftamt.s64", "l")
__device__ s32 addSaturated(s32 a, s32 b) {
  s32 result;
  asm("add.sat.s32 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
__device__ s32 subtractSaturated(s32 a, s32 b) {
  s32 result;
  asm("sub.sat.s32 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}
__device__ u32 permuted(u32 a, u32 b, u32 by) {
  u32 result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(by));
  return result;
}
/// Both results of a comparison, each with another predicate.
__device__ u32 comparedBoth(s32 a, s32 b, s32 c) {
  u32 result;
  asm("{ .reg .pred p, q, r, t;\n setp.lt.s32 p|q, %1, %2;\n setp.gt.and.s32 r|t, %2, %3, !p;\n"
      " .reg .b32 x, y;\n selp.b32 x, 1, 0, p;\n selp.b32 y, 2, 0, q;\n or.b32 x, x, y;\n"
      " selp.b32 y, 4, 0, r;\n or.b32 x, x, y;\n selp.b32 y, 8, 0, t;\n or.b32 %0, x, y; }"
      : "=r"(result)
      : "r"(a), "r"(b), "r"(c));
  return result;
}
#else
static u32 comparedBoth(s32 a, s32 b, s32 c) {
  const bool p = a < b;
  return p | !p << 1 | (b > c && !p) << 2 | (!(b > c) && !p) << 3;
}
// As the PTX ISA says: `length` bits from `position`, both of their lower 8
// bits; above them the sign, which is the last bit of the field that is there.
template <typename T> static T extract(T a, u32 position, u32 length) {
  const u32 bits = sizeof(T) * 8;
  position &= 255;
  length &= 255;
  const u32 last = position + length - 1 < bits - 1 ? position + length - 1 : bits - 1;
  const bool isNegative = length != 0 && a < 0;
  const bool sign = T(-1) < 0 && length != 0 && (last == bits - 1 ? isNegative : (a >> last & 1) != 0);
  u64 result = sign ? ~0ull : 0;
  for (u32 bit = 0; bit < length && bit + position < bits && bit < bits; ++bit) {
    const u64 value = u64(a) >> (bit + position) & 1;
    result = (result & ~(1ull << bit)) | value << bit;
  }
  return T(result);
}
template <typename T> static T insert(T a, T into, u32 position, u32 length) {
  for (u32 bit = 0; bit < (length & 255) && bit + (position & 255) < sizeof(T) * 8; ++bit) {
    const T mask = T(1) << (bit + (position & 255));
    into = (a >> bit & 1) ? into | mask : into & ~mask;
  }
  return into;
}
template <typename T> static u32 findLast(T a) {
  const u64 value = a < 0 ? ~s64(a) : u64(a);
  return value ? u32(63 - __builtin_clzll(value)) : ~0u;
}
template <typename T> static u32 shiftOfLast(T a) {
  return findLast(a) == ~0u ? ~0u : u32(sizeof(T) * 8 - 1) - findLast(a);
}
static s32 clamped(s64 exact) {
  return exact > 2147483647 ? 2147483647 : exact < -2147483648ll ? s32(-2147483648ll) : s32(exact);
}
static s32 addSaturated(s32 a, s32 b) { return clamped(s64(a) + b); }
static s32 subtractSaturated(s32 a, s32 b) { return clamped(s64(a) - b); }
static u32 permuted(u32 a, u32 b, u32 by) {
  u32 result = __byte_perm(a, b, by);
  for (int byte = 0; byte < 4; ++byte)
    if (by >> (4 * byte + 3) & 1)
      result = (result & ~(255u << 8 * byte)) | (result >> (8 * byte + 7) & 1 ? 255u << 8 * byte : 0);
  return result;
}
#endif
#define FIELDS(T)                                                              \
  MAP3(extract_##T, T, T, u32, u32, extract(a, b, c))                          \
  MAP2(extract_some_##T, T, T, u32, extract(a, b % 70, b / 70 % 70))           \
  MAP1(find_last_##T, u32, T, findLast(a))
FIELDS(u32)
FIELDS(s32)
FIELDS(u64)
FIELDS(s64)
MAP3(insert_u32, u32, u32, u32, u32, insert(a, b, c, c >> 8))
MAP3(insert_some_u32, u32, u32, u32, u32, insert(a, b, c % 33, c / 33 % 34))
MAP3(insert_some_u64, u64, u64, u64, u32, insert(a, b, c % 65, c / 65 % 66))
MAP1(shift_of_last_u32, u32, u32, shiftOfLast(a))
MAP1(shift_of_last_s64, u32, s64, shiftOfLast(a))
MAP2(add_saturated, s32, s32, s32, addSaturated(a, b))
MAP2(subtract_saturated, s32, s32, s32, subtractSaturated(a, b))
MAP3(compared_both, u32, s32, s32, s32, comparedBoth(a, b, c))
MAP3(permuted_with_signs, u32, u32, u32, u32, permuted(a, b, c))

// Integers of 128 bits: carries from one half to the other.
typedef __int128 s128;
typedef unsigned __int128 u128;
#define WIDE(name, T, expression)                                              \
  KERNEL(name, flat(),                                                         \
         (out<u64>(2 * kCount), in<u64>(kCount), in<u64>(kCount),              \
          in<u64>(kCount), in<u64>(kCount)),                                   \
         (u64 * results, const u64 *as, const u64 *bs, const u64 *cs,          \
          const u64 *ds)) {                                                    \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
    const T a = T(u128(cs[i]) << 64 | as[i]);                                  \
    const T b = T(u128(ds[i]) << 64 | bs[i]);                                  \
    const u128 result = u128(expression);                                      \
    results[2 * i] = u64(result);                                              \
    results[2 * i + 1] = u64(result >> 64);                                    \
  }
WIDE(add_128, u128, a + b)
WIDE(subtract_128, u128, a - b)
WIDE(multiply_128, u128, a *b)
WIDE(negate_128, u128, -a)
WIDE(left_128, u128, a << (u32(b) & 127))
WIDE(right_128, u128, a >> (u32(b) & 127))
WIDE(right_128_signed, s128, a >> (u32(b) & 127))
WIDE(compare_128, s128, (a < b) + 2 * (u128(a) < u128(b)) + 4 * (a == b))
WIDE(divide_128, u128, b == 0 ? 0 : a / b)
WIDE(remainder_128_signed, s128, b == 0 || b == -1 ? 0 : a % b)
WIDE(product_and_sum_128, u128, u128(u64(a)) * u64(b) + a)
MAP3(polynomial_64, u64, u64, u64, u32, (a * b + c) * 6364136223846793005u + (b >> c % 64))
MAP2(wide_product_s32, s64, s32, s32, s64(a) * b)
MAP2(wide_product_u32, u64, u32, u32, u64(a) * b + 3)
MAP2(wide_product_s16, s32, s16, s16, s32(a) * b)
MAP2(wide_product_u16, u32, u16, u16, u32(a) * b)
MAP3(wide_product_and_sum, s64, s32, s32, s64, s64(a) * b + c)

// Division by what is known: compilers multiply.
#define BY(T, name, divisor)                                                   \
  MAP1(divide_##T##_by_##name, T, T, T(a / T(divisor)))                        \
  MAP1(remainder_##T##_by_##name, T, T, T(a % T(divisor)))
BY(s32, 7, 7) BY(u32, 7, 7) BY(s32, minus_3, -3) BY(u32, 641, 641)
BY(s64, 1000, 1000) BY(u64, 10, 10) BY(s16, 5, 5) BY(u8, 3, 3) BY(s32, 16, 16)
