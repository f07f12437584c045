//===- Convert.cpp - from one type to another -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// cvt, and the types of 16 bits, which the host need not have.
//
//===----------------------------------------------------------------------===//
#include "Rounding.h"

using namespace ptx;

/// Explicit bits of a significand, and what exponents are counted from.
struct Format {
  int mantissa, bias;
};
static Format formatOf(Type type) {
  return type == Type::BF16 ? Format{7, 127} : Format{10, 15};
}

double ptx::fromSmall(Type type, uint64_t bits) {
  const Format format = formatOf(type);
  const int exponent = int(bits >> format.mantissa) & (2 * format.bias + 1);
  const int fraction = int(bits) & ((1 << format.mantissa) - 1);
  double size;
  if (exponent == 2 * format.bias + 1)
    size = fraction ? std::nan("") : HUGE_VAL;
  else if (exponent == 0)
    size = std::ldexp(fraction, 1 - format.bias - format.mantissa);
  else
    size = std::ldexp(fraction + (1 << format.mantissa),
                      exponent - format.bias - format.mantissa);
  return bits & 0x8000 ? -size : size;
}

uint16_t ptx::toSmall(Type type, double value, Rounding rounding) {
  const Format format = formatOf(type);
  const uint64_t bits = fromDouble(value);
  const bool isNegative = bits >> 63;
  const uint64_t sign = isNegative ? 0x8000 : 0;
  const uint64_t infinity = uint64_t(2 * format.bias + 1) << format.mantissa;
  if (std::isnan(value))
    return 0x7FFF;
  if (std::isinf(value))
    return sign | infinity;
  constexpr uint64_t kHidden = uint64_t(1) << 52;
  const int stored = int(bits >> 52) & 2047;
  const int exponent = stored - 1023;
  const uint64_t significand = (bits & (kHidden - 1)) | (stored ? kHidden : 0);
  const int least = 1 - format.bias;
  const int shift =
      std::min(52 - format.mantissa + std::max(0, least - exponent), 62);
  uint64_t kept = significand >> shift;
  const uint64_t rest = significand & ((uint64_t(1) << shift) - 1),
                 half = uint64_t(1) << (shift - 1);
  switch (rounding) {
  case Rounding::Nearest:
    kept += rest > half || (rest == half && (kept & 1));
    break;
  case Rounding::Zero:
    break;
  case Rounding::Down:
    kept += isNegative && rest;
    break;
  case Rounding::Up:
    kept += !isNegative && rest;
    break;
  }
  // The hidden bit, and a carry into the exponent, are one more in it.
  if (exponent > least)
    kept += uint64_t(exponent - least) << format.mantissa;
  if (kept < infinity)
    return sign | kept;
  const bool isInfinite =
      rounding == Rounding::Nearest ||
      rounding == (isNegative ? Rounding::Down : Rounding::Up);
  return sign | (isInfinite ? infinity : infinity - 1);
}

static double readFloat(Type type, uint64_t bits) {
  switch (type) {
  case Type::F64:
    return toDouble(bits);
  case Type::F16:
  case Type::BF16:
    return fromSmall(type, bits);
  default:
    return toFloat(bits);
  }
}

/// f64 to f32 in any rounding; the others are exact, or integers.
static float narrow(double value, Rounding rounding) {
  volatile double x = value;
  return rounded<float>(rounding, [&] { return float(x); });
}

static double toWhole(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

uint64_t ptx::convert(const Instruction &i, uint64_t value) {
  const Type to = i.type, from = i.from;
  if (isFloat(from)) {
    double x = readFloat(from, value);
    if (i.flush && from == Type::F32)
      x = flushed(float(x));
    if (isFloat(to)) {
      if (i.toInteger)
        x = toWhole(x, i.rounding);
      if (i.saturate)
        x = std::isnan(x) ? 0 : std::min(1.0, std::max(0.0, x));
      if (to == Type::F64)
        return fromDouble(x);
      const Rounding rounding = i.toInteger ? Rounding::Nearest : i.rounding;
      if (to == Type::F16 || to == Type::BF16)
        return toSmall(to, i.relu && x < 0 ? 0 : x, rounding);
      const float result = narrow(x, rounding);
      return fromFloat(i.flush ? flushed(result) : result);
    }
    // What does not fit becomes the nearest number. NaN is 0, and of 64 bits,
    // there or here, the number with but the upper bit.
    const unsigned bits = bytesOf(to) * 8;
    if (std::isnan(x))
      return from == Type::F64 || bits == 64
                 ? extend(to, uint64_t(1) << (bits - 1))
                 : 0;
    x = toWhole(x, i.rounding);
    if (isSigned(to)) {
      const double limit = std::ldexp(1.0, bits - 1);
      if (x >= limit)
        return extend(to, (uint64_t(1) << (bits - 1)) - 1);
      return x < -limit ? extend(to, uint64_t(1) << (bits - 1))
                        : uint64_t(int64_t(x));
    }
    if (x >= std::ldexp(1.0, bits))
      return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
    return x < 0 ? 0 : uint64_t(x);
  }
  const uint64_t number = extend(from, value);
  if (!isFloat(to)) {
    if (i.saturate && isSigned(from) && int64_t(number) < 0 && !isSigned(to))
      return 0;
    return number;
  }
  volatile uint64_t unsignedNumber = number;
  volatile int64_t signedNumber = int64_t(number);
  auto as = [&](auto zero) {
    using T = decltype(zero);
    return rounded<T>(i.rounding, [&] {
      return isSigned(from) ? T(signedNumber) : T(unsignedNumber);
    });
  };
  if (to == Type::F16 || to == Type::BF16) {
    std::feclearexcept(FE_INEXACT);
    const double cut = rounded<double>(Rounding::Zero, [&] {
      return isSigned(from) ? double(signedNumber) : double(unsignedNumber);
    });
    return toSmall(to, toOdd(cut, std::fetestexcept(FE_INEXACT) != 0),
                   i.rounding);
  }
  return to == Type::F64 ? fromDouble(as(0.0)) : fromFloat(as(0.0f));
}

uint64_t ptx::convertPair(const Instruction &i, uint64_t high, uint64_t low) {
  Instruction one = i;
  one.type = i.type == Type::F16x2 ? Type::F16 : Type::BF16;
  return convert(one, high) << 16 | convert(one, low);
}
