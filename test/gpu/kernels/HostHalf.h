//===- HostHalf.h - CUDA's types of 16 bits, on the host --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Under CUDA's names. Each operation is computed exactly, or in f64 rounded to
// odd, and rounded from there once: by multiples of the unit in the last place,
// which shares nothing with how the executor does it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_KERNELS_HOSTHALF_H
#define PP_TEST_GPU_KERNELS_HOSTHALF_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace host {

enum class Mode { rn, rz, ru, rd };

inline double whole(double x, Mode mode) {
  return mode == Mode::rn   ? std::nearbyint(x)
         : mode == Mode::rz ? std::trunc(x)
         : mode == Mode::ru ? std::ceil(x)
                            : std::floor(x);
}

/// A format of 16 bits, so many of them explicit in the significand.
template <int kMantissa> struct Small {
  uint16_t bits = 0;
  static constexpr int kBias = (1 << (14 - kMantissa)) - 1;

  Small() = default;
  Small(float x) : Small(double(x)) {}
  explicit Small(double x, Mode mode = Mode::rn) {
    const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    const uint16_t infinity = 0x7FFF & ~((1 << kMantissa) - 1);
    if (std::isnan(x)) {
      bits = 0x7FFF;
    } else if (std::isinf(x)) {
      bits = sign | infinity;
    } else if (x == 0) {
      bits = sign;
    } else {
      const int exponent = std::max(std::ilogb(x), 1 - kBias);
      const int unit = exponent - kMantissa;
      const double units = std::fabs(whole(std::ldexp(x, -unit), mode));
      // A carry out of the significand is one more in the exponent.
      const uint32_t value =
          uint32_t(units) + (uint32_t(exponent + kBias - 1) << kMantissa);
      const bool isOver = value >= infinity;
      const bool staysFinite = mode == Mode::rz || (mode == Mode::ru && sign) ||
                               (mode == Mode::rd && !sign);
      bits = sign | uint16_t(!isOver       ? value
                             : staysFinite ? infinity - 1
                                           : infinity);
    }
  }
  operator float() const {
    const int exponent = (bits & 0x7FFF) >> kMantissa;
    const int fraction = bits & ((1 << kMantissa) - 1);
    const float sign = bits & 0x8000 ? -1.0f : 1.0f;
    if (exponent == 2 * kBias + 1)
      return sign * (fraction ? std::numeric_limits<float>::quiet_NaN()
                              : std::numeric_limits<float>::infinity());
    const int hidden = exponent ? 1 << kMantissa : 0;
    return sign * std::ldexp(float(fraction + hidden),
                             std::max(exponent, 1) - kBias - kMantissa);
  }
};

/// a + b in f64; if that is not the sum, its last bit is 1.
inline double addToOdd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  const double fromB = sum - a;
  const double rest = (a - (sum - fromB)) + (b - fromB);
  if (rest == 0)
    return sum;
  uint64_t bits;
  std::memcpy(&bits, &sum, 8);
  if (!(bits & 1)) // towards the rest
    bits += (rest > 0) == (sum > 0) ? 1 : -1;
  double result;
  std::memcpy(&result, &bits, 8);
  return result;
}

template <typename T> constexpr bool kIsSmall = false;
template <int kMantissa> constexpr bool kIsSmall<Small<kMantissa>> = true;

} // namespace host

using __half = host::Small<10>;
using __nv_bfloat16 = host::Small<7>;
template <typename T> struct alignas(4) HostPair {
  T x, y;
};
using __half2 = HostPair<__half>;
using __nv_bfloat162 = HostPair<__nv_bfloat16>;

template <typename T> using IfSmall = std::enable_if_t<host::kIsSmall<T>, T>;

// One of f16 or bf16, and of two of them.
#define PP_SMALL_UNARY(name, expression)                                       \
  template <typename T> IfSmall<T> __h##name(T u) {                            \
    const double a = u;                                                        \
    return T(double(expression));                                              \
  }                                                                            \
  template <typename T> HostPair<T> __h##name##2(HostPair<T> a) {              \
    return {__h##name(a.x), __h##name(a.y)};                                   \
  }
#define PP_SMALL_BINARY(name, expression)                                      \
  template <typename T> IfSmall<T> __h##name(T u, T v) {                       \
    const double a = u, b = v;                                                 \
    return T(double(expression));                                              \
  }                                                                            \
  template <typename T>                                                        \
  HostPair<T> __h##name##2(HostPair<T> a, HostPair<T> b) {                     \
    return {__h##name(a.x, b.x), __h##name(a.y, b.y)};                         \
  }
#define PP_SMALL_COMPARE(name, expression)                                     \
  template <typename T, typename = IfSmall<T>> bool __h##name(T u, T v) {      \
    const float a = u, b = v;                                                  \
    const bool isUnordered = std::isnan(a) || std::isnan(b);                   \
    return (expression) && !isUnordered;                                       \
  }                                                                            \
  template <typename T, typename = IfSmall<T>> bool __h##name##u(T u, T v) {   \
    const float a = u, b = v;                                                  \
    const bool isUnordered = std::isnan(a) || std::isnan(b);                   \
    return (expression) || isUnordered;                                        \
  }                                                                            \
  template <typename T>                                                        \
  HostPair<T> __h##name##2(HostPair<T> a, HostPair<T> b) {                     \
    return {T(float(__h##name(a.x, b.x))), T(float(__h##name(a.y, b.y)))};     \
  }
namespace host {
inline double least(double a, double b) {
  return std::isnan(a)   ? b
         : std::isnan(b) ? a
         : a == b        ? (std::signbit(a) ? a : b) // -0 is below 0
                         : std::min(a, b);
}
inline double most(double a, double b) { return -least(-a, -b); }
inline double unlessNan(double a, double b, double result) {
  return std::isnan(a) || std::isnan(b) ? a + b : result;
}
} // namespace host
PP_SMALL_UNARY(neg, -a)
PP_SMALL_UNARY(abs, std::fabs(a))
PP_SMALL_BINARY(add, host::addToOdd(a, b))
PP_SMALL_BINARY(sub, host::addToOdd(a, -b))
PP_SMALL_BINARY(mul, a *b)
PP_SMALL_BINARY(min, host::least(a, b))
PP_SMALL_BINARY(max, host::most(a, b))
PP_SMALL_COMPARE(eq, a == b)
PP_SMALL_COMPARE(ne, a != b)
PP_SMALL_COMPARE(lt, a < b)
PP_SMALL_COMPARE(le, a <= b)
PP_SMALL_COMPARE(gt, a > b)
PP_SMALL_COMPARE(ge, a >= b)
#undef PP_SMALL_UNARY
#undef PP_SMALL_BINARY
#undef PP_SMALL_COMPARE

template <typename T> IfSmall<T> __hmin_nan(T a, T b) {
  return T(host::unlessNan(a, b, __hmin(a, b)));
}
template <typename T> IfSmall<T> __hmax_nan(T a, T b) {
  return T(host::unlessNan(a, b, __hmax(a, b)));
}
/// A product of two has at most 22 bits.
template <typename T> IfSmall<T> __hfma(T a, T b, T c) {
  return T(host::addToOdd(double(a) * double(b), c));
}
template <typename T>
HostPair<T> __hfma2(HostPair<T> a, HostPair<T> b, HostPair<T> c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
template <typename T> IfSmall<T> saturated(T value) {
  return T(std::isnan(float(value))
               ? 0.0
               : std::min(1.0, std::max(0.0, double(value))));
}
template <typename T> IfSmall<T> __hadd_sat(T a, T b) {
  return saturated(__hadd(a, b));
}
template <typename T> IfSmall<T> __hmul_sat(T a, T b) {
  return saturated(__hmul(a, b));
}
template <typename T> IfSmall<T> __hfma_sat(T a, T b, T c) {
  return saturated(__hfma(a, b, c));
}
template <typename T> IfSmall<T> __hfma_relu(T a, T b, T c) {
  const T value = __hfma(a, b, c); // NaN stays
  return float(value) < 0 || float(value) == 0 ? T(std::max(0.0, double(value)))
                                               : value;
}
template <typename T> bool __hisnan(T a) { return std::isnan(float(a)); }
template <typename T> int __hisinf(T a) {
  return std::isinf(float(a)) ? (float(a) > 0 ? 1 : -1) : 0;
}
template <typename T> IfSmall<T> hfloor(T a) { return std::floor(float(a)); }
template <typename T> IfSmall<T> hceil(T a) { return std::ceil(float(a)); }
template <typename T> IfSmall<T> htrunc(T a) { return std::trunc(float(a)); }
template <typename T> IfSmall<T> hrint(T a) { return std::nearbyint(float(a)); }
template <typename T> IfSmall<T> hexp2(T a) { return T(std::exp2(double(a))); }
template <typename T> IfSmall<T> hsqrt(T a) { return T(std::sqrt(double(a))); }

template <typename T> T __low2half(HostPair<T> a) { return a.x; }
template <typename T> T __high2half(HostPair<T> a) { return a.y; }
template <typename T> T __low2bfloat16(HostPair<T> a) { return a.x; }
template <typename T> T __high2bfloat16(HostPair<T> a) { return a.y; }
template <typename T> HostPair<T> __halves2half2(T a, T b) { return {a, b}; }
template <typename T> HostPair<T> __halves2bfloat162(T a, T b) {
  return {a, b};
}

// Conversions, by the name that each type has in them.
#define PP_FROM(type, T, from, F, mode)                                        \
  inline T __##from##2##type##_##mode(F a) {                                   \
    return T(double(a), host::Mode::mode);                                     \
  }
#define PP_ROUNDINGS(X, ...)                                                   \
  X(__VA_ARGS__, rn) X(__VA_ARGS__, rz) X(__VA_ARGS__, ru) X(__VA_ARGS__, rd)
PP_ROUNDINGS(PP_FROM, half, __half, float, float)
PP_ROUNDINGS(PP_FROM, half, __half, int, int)
PP_ROUNDINGS(PP_FROM, half, __half, uint, unsigned)
PP_ROUNDINGS(PP_FROM, half, __half, short, short)
PP_ROUNDINGS(PP_FROM, half, __half, ushort, unsigned short)
PP_ROUNDINGS(PP_FROM, bfloat16, __nv_bfloat16, float, float)
PP_ROUNDINGS(PP_FROM, bfloat16, __nv_bfloat16, int, int)
PP_ROUNDINGS(PP_FROM, bfloat16, __nv_bfloat16, uint, unsigned)
PP_ROUNDINGS(PP_FROM, bfloat16, __nv_bfloat16, short, short)
PP_ROUNDINGS(PP_FROM, bfloat16, __nv_bfloat16, ushort, unsigned short)
#undef PP_FROM
/// What f64 does not hold, rounded to odd.
template <typename Integer> double oddOf(Integer x) {
  const double upper = double(x >> 16) * 65536.0; // at most 48 bits
  return host::addToOdd(upper, double(x & 0xFFFF));
}
#define PP_FROM_LONG(type, T, from, F, mode)                                   \
  inline T __##from##2##type##_##mode(F a) {                                   \
    return T(oddOf(a), host::Mode::mode);                                      \
  }
PP_ROUNDINGS(PP_FROM_LONG, half, __half, ll, long long)
PP_ROUNDINGS(PP_FROM_LONG, half, __half, ull, unsigned long long)
PP_ROUNDINGS(PP_FROM_LONG, bfloat16, __nv_bfloat16, ll, long long)
PP_ROUNDINGS(PP_FROM_LONG, bfloat16, __nv_bfloat16, ull, unsigned long long)
#undef PP_FROM_LONG
inline __half __double2half(double a) { return __half(a); }
inline __nv_bfloat16 __double2bfloat16(double a) { return __nv_bfloat16(a); }
inline __half __float2half(float a) { return __half(a); }
inline __nv_bfloat16 __float2bfloat16(float a) { return __nv_bfloat16(a); }
inline float __half2float(__half a) { return a; }
inline float __bfloat162float(__nv_bfloat16 a) { return a; }
inline unsigned short __half_as_ushort(__half a) { return a.bits; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 a) { return a.bits; }
inline __half __ushort_as_half(unsigned short bits) {
  __half result;
  result.bits = bits;
  return result;
}
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  __nv_bfloat16 result;
  result.bits = bits;
  return result;
}

#endif // PP_TEST_GPU_KERNELS_HOSTHALF_H
