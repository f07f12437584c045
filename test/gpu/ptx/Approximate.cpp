//===- Approximate.cpp - instructions with an error of their own ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Computed in f64, then put off by anything up to the error that the PTX ISA's
// manual documents. Of one input and seed it is the same every time: so are a
// GPU's.
//
//===----------------------------------------------------------------------===//
#include "Arithmetic.h"

#include <cmath>

using namespace ptx;

/// From -1 to 1.
static double drawOf(uint64_t input, uint64_t seed) {
  uint64_t x = input * 0x9E3779B97F4A7C15u ^ (seed + 0x632BE59BD9B4E019u);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return double(int64_t(x ^ (x >> 31))) / 9223372036854775808.0;
}

static bool isPowerOf2(double value) {
  int exponent;
  return std::fabs(std::frexp(value, &exponent)) == 0.5;
}

/// Half a unit in the last place of an f32: the other half of the one that is
/// documented is the last rounding's.
static double halfUnitOf(double exact) {
  return std::isfinite(exact) && exact != 0
             ? 0.5 * std::ldexp(1.0, std::ilogb(exact) - 23)
             : 0;
}

uint64_t ptx::approximate(const Instruction &i, uint64_t a,
                          const Approximation &approximation) {
  auto flush = [&](float value) {
    return i.flush && std::fpclassify(value) == FP_SUBNORMAL
               ? std::copysign(0.0f, value)
               : value;
  };
  const double draw = drawOf(a, approximation.seed);
  if (i.type == Type::F64) { // rcp: only the upper half of the bits
    const double exact = 1 / toDouble(a);
    const uint64_t bits =
        fromDouble(std::isfinite(exact) && exact != 0
                       ? exact * (1 + draw * std::ldexp(1.0, -21))
                       : exact);
    return bits & ~uint64_t(0xFFFFFFFF);
  }
  const double x = flush(toFloat(a));
  double exact = 0, relative = 0, absolute = 0;
  switch (i.op) {
  case Op::Ex2:
    // Of whole numbers it is exact: libdevice's f64 functions rely on that.
    exact = std::exp2(x);
    relative = x == std::floor(x) ? 0 : std::ldexp(1.0, -22);
    break;
  case Op::Rcp:
    exact = 1 / x;
    absolute = isPowerOf2(x) ? 0 : halfUnitOf(exact);
    break;
  case Op::Sqrt:
    exact = std::sqrt(x);
    relative = std::ldexp(1.0, -23);
    break;
  default:
    return 0;
  }
  double result = exact;
  if (std::isfinite(exact) && exact != 0)
    result = exact * (1 + draw * relative) + draw * absolute;
  // A reciprocal is a power of 2 of such alone: NVIDIA's division of 128 bits
  // takes its significand for a number that is not 0.
  const bool isOff =
      i.op == Op::Rcp && isPowerOf2(float(result)) && !isPowerOf2(x);
  return fromFloat(flush(float(isOff ? exact : result)));
}
