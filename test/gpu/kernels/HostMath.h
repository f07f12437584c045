//===- HostMath.h - CUDA's functions of numbers, on the host ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What CUDA C++ has and C++ does not: bits, roundings that an expression names,
// conversions that clamp. A conversion to an integer takes what does not fit as
// the nearest number, and NaN as the PTX ISA says of cvt.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_KERNELS_HOSTMATH_H
#define PP_TEST_GPU_KERNELS_HOSTMATH_H

#include "HostHalf.h"

#include <cfenv>
#include <cstdlib>
#include <math.h> // functions outside of std

namespace host {

/// Kernels' sources are compiled with -frounding-math.
template <typename Function>
__attribute__((noinline)) auto inMode(Mode mode, Function compute) {
  std::fesetround(mode == Mode::rn   ? FE_TONEAREST
                  : mode == Mode::rz ? FE_TOWARDZERO
                  : mode == Mode::ru ? FE_UPWARD
                                     : FE_DOWNWARD);
  volatile auto result = compute();
  std::fesetround(FE_TONEAREST);
  return decltype(compute())(result);
}

template <typename To, typename From> To toInteger(From number, Mode mode) {
  const double x = double(number);
  using L = std::numeric_limits<To>;
  if (std::isnan(x)) {
    const bool isWide = sizeof(To) == 8 || sizeof(From) == 8;
    return isWide ? To(1ull << (sizeof(To) * 8 - 1)) : To(0);
  }
  const double y = whole(x, mode);
  if (y >= std::ldexp(1.0, L::digits))
    return L::max();
  return y <= double(L::min()) ? L::min() : To(y);
}

} // namespace host

#define PP_ROUNDED(mode)                                                       \
  PP_ROUNDED_OF(f, float, float, mode)                                         \
  PP_ROUNDED_OF(d, double, , mode)                                             \
  inline float __fmaf_##mode(float a, float b, float c) {                      \
    volatile float x = a, y = b, z = c;                                        \
    return host::inMode(host::Mode::mode, [&] { return fmaf(x, y, z); });      \
  }                                                                            \
  inline double __fma_##mode(double a, double b, double c) {                   \
    volatile double x = a, y = b, z = c;                                       \
    return host::inMode(host::Mode::mode, [&] { return fma(x, y, z); });       \
  }                                                                            \
  inline float __double2float_##mode(double a) {                               \
    volatile double x = a;                                                     \
    return host::inMode(host::Mode::mode, [&] { return float(x); });           \
  }                                                                            \
  PP_FROM_INTEGER(int, int, mode)                                              \
  PP_FROM_INTEGER(uint, unsigned, mode)                                        \
  PP_FROM_INTEGER(ll, long long, mode)                                         \
  PP_FROM_INTEGER(ull, unsigned long long, mode)                               \
  PP_TO_INTEGERS(float, float, mode)                                           \
  PP_TO_INTEGERS(double, double, mode)                                         \
  PP_TO_INTEGERS(half, __half, mode)                                           \
  PP_TO_INTEGERS(bfloat16, __nv_bfloat16, mode)
#define PP_ROUNDED_OF(letter, T, suffix, mode)                                 \
  PP_ROUNDED_BINARY(__##letter##add_##mode, T, mode, x + y)                    \
  PP_ROUNDED_BINARY(__##letter##sub_##mode, T, mode, x - y)                    \
  PP_ROUNDED_BINARY(__##letter##mul_##mode, T, mode, x *y)                     \
  PP_ROUNDED_BINARY(__##letter##div_##mode, T, mode, x / y)                    \
  PP_ROUNDED_UNARY(__##letter##rcp_##mode, T, mode, 1 / x)                     \
  PP_ROUNDED_UNARY(__##letter##sqrt_##mode, T, mode, std::sqrt(T(x)))
#define PP_ROUNDED_BINARY(name, T, mode, expression)                           \
  inline T name(T a, T b) {                                                    \
    volatile T x = a, y = b;                                                   \
    return host::inMode(host::Mode::mode, [&] { return T(expression); });      \
  }
#define PP_ROUNDED_UNARY(name, T, mode, expression)                            \
  inline T name(T a) {                                                         \
    volatile T x = a;                                                          \
    return host::inMode(host::Mode::mode, [&] { return T(expression); });      \
  }
#define PP_FROM_INTEGER(from, F, mode)                                         \
  inline float __##from##2float_##mode(F a) {                                  \
    volatile F x = a;                                                          \
    return host::inMode(host::Mode::mode, [&] { return float(x); });           \
  }                                                                            \
  inline double __##from##2double_##mode(F a) {                                \
    volatile F x = a;                                                          \
    return host::inMode(host::Mode::mode, [&] { return double(x); });          \
  }
#define PP_TO_INTEGERS(from, F, mode)                                          \
  PP_TO_INTEGER(from, F, int, int, mode)                                       \
  PP_TO_INTEGER(from, F, uint, unsigned, mode)                                 \
  PP_TO_INTEGER(from, F, short, short, mode)                                   \
  PP_TO_INTEGER(from, F, ushort, unsigned short, mode)                         \
  PP_TO_INTEGER(from, F, ll, long long, mode)                                  \
  PP_TO_INTEGER(from, F, ull, unsigned long long, mode)
#define PP_TO_INTEGER(from, F, to, T, mode)                                    \
  inline T __##from##2##to##_##mode(F a) {                                     \
    return host::toInteger<T>(a, host::Mode::mode);                            \
  }
PP_ROUNDED(rn)
PP_ROUNDED(rz)
PP_ROUNDED(ru)
PP_ROUNDED(rd)
#undef PP_ROUNDED
#undef PP_ROUNDED_OF
#undef PP_ROUNDED_BINARY
#undef PP_ROUNDED_UNARY
#undef PP_FROM_INTEGER
#undef PP_TO_INTEGERS
#undef PP_TO_INTEGER

// Bits.
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned long long __brevll(unsigned long long x) {
  unsigned long long result = 0;
  for (int bit = 0; bit < 64; ++bit)
    result |= (x >> bit & 1) << (63 - bit);
  return result;
}
inline unsigned __brev(unsigned x) { return unsigned(__brevll(x) >> 32); }
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long both = (unsigned long long)(y) << 32 | x;
  unsigned result = 0;
  for (int byte = 0; byte < 4; ++byte)
    result |= unsigned(both >> (8 * (selector >> (4 * byte) & 7)) & 255)
              << (8 * byte);
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  by &= 31;
  return by ? high << by | low >> (32 - by) : high;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  by &= 31;
  return by ? low >> by | high << (32 - by) : low;
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned by) {
  return by >= 32 ? low : __funnelshift_l(low, high, by);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned by) {
  return by >= 32 ? high : __funnelshift_r(low, high, by);
}
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return unsigned((unsigned long long)a * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return (long long)((__int128)a * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a,
                                     unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __mul24(int a, int b) {
  return int((long long)(a << 8 >> 8) * (b << 8 >> 8));
}
inline unsigned __umul24(unsigned a, unsigned b) {
  return (a & 0xFFFFFF) * (b & 0xFFFFFF);
}
inline unsigned __sad(int a, int b, unsigned c) {
  return c + unsigned(std::llabs((long long)a - b));
}
inline unsigned __usad(unsigned a, unsigned b, unsigned c) {
  return c + (a < b ? b - a : a - b);
}
inline int __hadd(int a, int b) { return int(((long long)a + b) >> 1); }
inline int __rhadd(int a, int b) { return int(((long long)a + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) {
  return unsigned(((unsigned long long)a + b) >> 1);
}
inline unsigned __urhadd(unsigned a, unsigned b) {
  return unsigned(((unsigned long long)a + b + 1) >> 1);
}
template <typename Lane, typename Word>
Word dotOfBytes(Word a, Word b, Word c) {
  for (int byte = 0; byte < 4; ++byte)
    c += Word(Lane(a >> (8 * byte))) * Word(Lane(b >> (8 * byte)));
  return c;
}
inline int __dp4a(int a, int b, int c) {
  return dotOfBytes<signed char>(a, b, c);
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return dotOfBytes<unsigned char>(a, b, c);
}
template <typename Half, typename Lane, typename Word>
Word dotOfHalves(Word a, Word b, Word c, int first) {
  for (int half = 0; half < 2; ++half)
    c += Word(Half(a >> (16 * half))) * Word(Lane(b >> (8 * (first + half))));
  return c;
}
inline int __dp2a_lo(int a, int b, int c) {
  return dotOfHalves<short, signed char>(a, b, c, 0);
}
inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) {
  return dotOfHalves<unsigned short, unsigned char>(a, b, c, 2);
}

// Numbers.
inline int __float_as_int(float x) {
  int bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
inline float __int_as_float(int bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}
inline unsigned __float_as_uint(float x) { return unsigned(__float_as_int(x)); }
inline float __uint_as_float(unsigned x) { return __int_as_float(int(x)); }
inline long long __double_as_longlong(double x) {
  long long bits;
  std::memcpy(&bits, &x, 8);
  return bits;
}
inline double __longlong_as_double(long long bits) {
  double x;
  std::memcpy(&x, &bits, 8);
  return x;
}
inline int __double2hiint(double x) {
  return int(__double_as_longlong(x) >> 32);
}
inline int __double2loint(double x) { return int(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double((long long)high << 32 | unsigned(low));
}
inline float __saturatef(float x) {
  return std::isnan(x) ? 0 : std::min(1.0f, std::max(0.0f, x));
}
// C leaves open which zero is the lesser one; PTX does not.
inline float leastOf(float a, float b) { return float(host::least(a, b)); }
inline float mostOf(float a, float b) { return float(host::most(a, b)); }
inline double leastOf(double a, double b) { return host::least(a, b); }
inline double mostOf(double a, double b) { return host::most(a, b); }
#define fminf leastOf
#define fmaxf mostOf
#define fmin leastOf
#define fmax mostOf
template <typename T> std::enable_if_t<std::is_integral_v<T>, T> min(T a, T b) {
  return b < a ? b : a;
}
template <typename T> std::enable_if_t<std::is_integral_v<T>, T> max(T a, T b) {
  return a < b ? b : a;
}

inline void __trap() { std::abort(); }

// Approximate in their own instruction.
inline float __expf(float x) { return float(std::exp(double(x))); }
inline float __exp10f(float x) { return float(std::pow(10.0, double(x))); }
inline float __logf(float x) { return float(std::log(double(x))); }
inline float __log2f(float x) { return float(std::log2(double(x))); }
inline float __log10f(float x) { return float(std::log10(double(x))); }
inline float __sinf(float x) { return float(std::sin(double(x))); }
inline float __cosf(float x) { return float(std::cos(double(x))); }
inline float __tanf(float x) { return float(std::tan(double(x))); }
inline float __powf(float x, float y) { return float(std::pow(x, double(y))); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frsqrt_rn(float x) { return float(1 / std::sqrt(double(x))); }
inline float rsqrtf(float x) { return float(1 / std::sqrt(double(x))); }
inline double rsqrt(double x) { return double(1 / std::sqrt((long double)x)); }
inline float fdividef(float x, float y) { return x / y; }
inline float rcbrtf(float x) { return float(1 / std::cbrt(double(x))); }
inline double rcbrt(double x) { return double(1 / std::cbrt((long double)x)); }
inline double sinpi(double x) {
  return double(std::sin(3.14159265358979323846264L * std::remainder(x, 2.0)));
}
inline double cospi(double x) {
  return double(std::cos(3.14159265358979323846264L * std::remainder(x, 2.0)));
}
inline float sinpif(float x) { return float(sinpi(double(x))); }
inline float cospif(float x) { return float(cospi(double(x))); }
inline float normcdff(float x) {
  return float(0.5 * std::erfc(-double(x) / std::sqrt(2.0)));
}

#endif // PP_TEST_GPU_KERNELS_HOSTMATH_H
