//===- Convert.cpp - from one type to another -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// cvt, and the types of 16 bits, which the host need not have.
//
//===----------------------------------------------------------------------===//
#include "Rounding.h"

using namespace ptx;

/// f64 to f32 in any rounding; the others are exact, or integers.
static float narrow(double value, Rounding rounding) {
  volatile double x = value;
  return rounded<float>(rounding, [&] { return float(x); });
}

double ptx::fromSmall(uint64_t bits) { return toFloat((bits & 0xFFFF) << 16); }

uint16_t ptx::toSmall(double value) {
  if (std::isnan(value))
    return 0x7FFF;
  // By an f32 that is rounded to odd: so it is rounded once.
  const float cut = narrow(value, Rounding::Zero);
  const uint64_t bits = fromFloat(cut) | (double(cut) != value);
  const uint64_t kept = bits >> 16, rest = bits & 0xFFFF, half = 0x8000;
  return uint16_t(kept + (rest > half || (rest == half && (kept & 1))));
}

static double readFloat(Type type, uint64_t bits) {
  return type == Type::F64    ? toDouble(bits)
         : type == Type::BF16 ? fromSmall(bits)
                              : toFloat(bits);
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
    if (isFloat(to)) {
      if (i.toInteger)
        x = toWhole(x, i.rounding);
      if (i.saturate)
        x = std::isnan(x) ? 0 : std::min(1.0, std::max(0.0, x));
      if (to == Type::F64)
        return fromDouble(x);
      const Rounding rounding = i.toInteger ? Rounding::Nearest : i.rounding;
      return to == Type::BF16 ? toSmall(x) : fromFloat(narrow(x, rounding));
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
  if (!isFloat(to))
    return number;
  volatile uint64_t unsignedNumber = number;
  volatile int64_t signedNumber = int64_t(number);
  auto as = [&](auto zero) {
    using T = decltype(zero);
    return rounded<T>(i.rounding, [&] {
      return isSigned(from) ? T(signedNumber) : T(unsignedNumber);
    });
  };
  if (to == Type::BF16) {
    std::feclearexcept(FE_INEXACT);
    const double cut = rounded<double>(Rounding::Zero, [&] {
      return isSigned(from) ? double(signedNumber) : double(unsignedNumber);
    });
    return toSmall(toOdd(cut, std::fetestexcept(FE_INEXACT) != 0));
  }
  return to == Type::F64 ? fromDouble(as(0.0)) : fromFloat(as(0.0f));
}

uint64_t ptx::convertPair(const Instruction &i, uint64_t high, uint64_t low) {
  Instruction one = i;
  one.type = Type::BF16;
  return convert(one, high) << 16 | convert(one, low);
}
