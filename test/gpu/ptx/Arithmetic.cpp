//===- Arithmetic.cpp - what PTX computes of scalars ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The processor's own roundings are used: this is compiled with
// -frounding-math, and leaves the mode to nearest. Approximations are computed
// in f64, then put off by anything up to the error that the PTX ISA's manual
// documents: of one input and seed as far every time, as a GPU's are.
//
//===----------------------------------------------------------------------===//
#include "Arithmetic.h"

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

using namespace ptx;

template <typename To, typename From> static To castBits(From from) {
  To to = {};
  std::memcpy(&to, &from, std::min(sizeof(to), sizeof(from)));
  return to;
}
static float toFloat(uint64_t bits) { return castBits<float>(bits); }
static double toDouble(uint64_t bits) { return castBits<double>(bits); }
static uint64_t toBits(float value) { return castBits<uint32_t>(value); }
static uint64_t toBits(double value) { return castBits<uint64_t>(value); }

uint64_t ptx::extend(Type type, uint64_t bits) {
  const unsigned unused = 64 - 8 * bytesOf(type);
  if (isSigned(type))
    return uint64_t(int64_t(bits << unused) >> unused);
  return type == Type::Pred ? bits & 1 : bits << unused >> unused;
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

/// Volatile: nothing is moved across the change of mode.
template <typename T, typename Function>
static T rounded(Rounding rounding, Function compute) {
  if (rounding == Rounding::Nearest)
    return compute();
  std::fesetround(rounding == Rounding::Zero   ? FE_TOWARDZERO
                  : rounding == Rounding::Down ? FE_DOWNWARD
                                               : FE_UPWARD);
  volatile T result = compute();
  std::fesetround(FE_TONEAREST);
  return result;
}

/// f64 to f32 in any rounding; the others are exact, or integers.
static float narrow(double value, Rounding rounding) {
  volatile double x = value;
  return rounded<float>(rounding, [&] { return float(x); });
}

static bool isSmall(Type type) {
  return type == Type::BF16 || type == Type::F16;
}

/// Of bf16 or f16.
static double fromSmall(Type type, uint64_t bits) {
  if (type == Type::BF16)
    return toFloat((bits & 0xFFFF) << 16);
  const int exponent = int(bits >> 10 & 31), fraction = int(bits & 1023);
  const double size =
      exponent == 0   ? std::ldexp(fraction, -24)
      : exponent < 31 ? std::ldexp(fraction + 1024, exponent - 25)
      : fraction == 0 ? std::numeric_limits<double>::infinity()
                      : std::numeric_limits<double>::quiet_NaN();
  return bits >> 15 & 1 ? -size : size;
}

/// The nearest f16.
static uint16_t toHalf(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (size >= 65520) // half a unit above the largest number
    return sign | 0x7C00;
  // In units of the last bit; from 1024 on the first one is the exponent's.
  const int exponent = size < std::ldexp(1.0, -14) ? -14 : std::ilogb(size);
  const double units = std::nearbyint(std::ldexp(size, 10 - exponent));
  return uint16_t(sign + (exponent + 14) * 1024 + int(units));
}

/// The nearest bf16 or f16.
static uint16_t toSmall(Type type, double value) {
  if (std::isnan(value))
    return 0x7FFF;
  if (type == Type::F16)
    return toHalf(value);
  // By an f32 that is rounded to odd: so it is rounded once.
  const float cut = narrow(value, Rounding::Zero);
  const uint64_t bits = toBits(cut) | (double(cut) != value);
  const uint64_t kept = bits >> 16, rest = bits & 0xFFFF, half = 0x8000;
  return uint16_t(kept + (rest > half || (rest == half && (kept & 1))));
}

/// The same of what `compute` gives in f64: it is cut towards zero, then
/// rounded to odd, so that rounding that is rounding once.
template <typename Function>
static uint16_t computeSmall(Type type, Function compute) {
  std::feclearexcept(FE_INEXACT);
  const double cut = compute();
  return toSmall(type, std::fetestexcept(FE_INEXACT) && std::isfinite(cut)
                           ? toDouble(toBits(cut) | 1)
                           : cut);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

template <typename T> static T least(T a, T b, bool propagates) {
  if (std::isnan(a) || std::isnan(b)) {
    if (propagates || (std::isnan(a) && std::isnan(b)))
      return std::numeric_limits<T>::quiet_NaN();
    return std::isnan(a) ? b : a;
  }
  if (a == b)
    return std::signbit(a) ? a : b; // -0 is below 0
  return a < b ? a : b;
}

template <typename T>
static bool computeFloat(const Instruction &i, T a, T b, T c, T &result) {
  volatile T x = a, y = b, z = c; // read in the mode of the moment
  const auto is = [&](auto compute) {
    result = rounded<T>(i.rounding, compute);
    return true;
  };
  switch (i.op) {
  case Op::Add:
    return is([&] { return T(x + y); });
  case Op::Sub:
    return is([&] { return T(x - y); });
  case Op::Mul:
    return is([&] { return T(x * y); });
  case Op::Div:
    return is([&] { return T(x / y); });
  case Op::Fma:
  case Op::Mad:
    return is([&] { return std::fma(T(x), T(y), T(z)); });
  case Op::Sqrt:
    return is([&] { return std::sqrt(T(x)); });
  case Op::Rcp:
    return is([&] { return T(1 / x); });
  case Op::Neg:
    result = -a;
    return true;
  case Op::Abs:
    result = std::fabs(a);
    return true;
  case Op::Min:
    result = least(a, b, i.propagatesNan);
    return true;
  case Op::Max:
    result = -least<T>(-a, -b, i.propagatesNan);
    return true;
  case Op::Copysign: // the sign of the first, the size of the second
    result = std::copysign(b, a);
    return true;
  default:
    return false;
  }
}

using Wide = unsigned __int128;

static Wide widen(Type type, uint64_t value) {
  return isSigned(type) ? Wide(__int128(int64_t(value))) : Wide(value);
}

static bool computeInteger(const Instruction &i, uint64_t a, uint64_t b,
                           uint64_t c, Carry &carry, uint64_t &result) {
  const unsigned bits = bytesOf(i.type) * 8;
  const bool isSignedType = isSigned(i.type);
  const auto plain = [&](uint64_t value) {
    return value << (64 - bits) >> (64 - bits);
  };
  const auto isLess = [&](uint64_t x, uint64_t y) {
    return isSignedType ? int64_t(x) < int64_t(y) : x < y;
  };
  /// Takes the lower bits; the next one is carried.
  const auto is = [&](Wide sum) {
    result = uint64_t(sum);
    if (i.carryOut)
      carry.flag = uint64_t(sum >> bits) & 1;
    return true;
  };
  const uint64_t by = uint32_t(b); // of a shift
  a = extend(i.type, a);
  b = extend(i.type, b);
  switch (i.op) {
  case Op::Add:
  case Op::Addc:
    return is(Wide(plain(a)) + plain(b) + (i.carryIn ? carry.flag : 0));
  case Op::Sub:
  case Op::Subc: // the flag is a carry's: 1 where nothing is borrowed
    is(Wide(plain(a)) - plain(b) - (i.carryIn ? !carry.flag : 0));
    carry.flag ^= uint64_t(i.carryOut);
    return true;
  case Op::Mul:
  case Op::Mad:
  case Op::Madc: {
    const Wide product = widen(i.type, a) * widen(i.type, b);
    if (i.half == Half::Wide)
      return is(uint64_t(product) + (i.op == Op::Mad ? c : 0));
    return is(Wide(plain(
                  uint64_t(i.half == Half::High ? product >> bits : product))) +
              (i.op != Op::Mul ? plain(c) : 0) + (i.carryIn ? carry.flag : 0));
  }
  case Op::Div:
  case Op::Rem: {
    const bool isDivision = i.op == Op::Div;
    if (b == 0)
      return is(isDivision ? ~uint64_t(0) : a); // unspecified; never needed
    if (isSignedType && int64_t(b) == -1)
      return is(isDivision ? -a : 0);
    const auto divide = [&](auto x, auto y) {
      return is(uint64_t(isDivision ? x / y : x % y));
    };
    return isSignedType ? divide(int64_t(a), int64_t(b)) : divide(a, b);
  }
  case Op::Min:
    return is(isLess(b, a) ? b : a);
  case Op::Max:
    return is(isLess(a, b) ? b : a);
  case Op::Neg:
    return is(-a);
  case Op::Abs:
    return is(int64_t(a) < 0 ? -a : a);
  case Op::And:
    return is(a & b);
  case Op::Or:
    return is(a | b);
  case Op::Xor:
    return is(a ^ b);
  case Op::Not:
    return is(~a);
  case Op::Shl:
    return is(by >= bits ? 0 : a << by);
  case Op::Shr:
    return is(isSignedType ? uint64_t(int64_t(a) >> std::min<uint64_t>(by, 63))
              : by >= bits ? 0
                           : a >> by);
  case Op::Shf: // to the left, of two words
    return is(uint32_t((b << 32 | a) << (c & 31) >> 32));
  case Op::Clz:
    return is(a == 0 ? bits : uint64_t(__builtin_clzll(a)) - (64 - bits));
  case Op::Popc:
    return is(uint64_t(__builtin_popcountll(a)));
  case Op::Bfe: {
    const unsigned position = by & 255, length = c & 255;
    const unsigned last = std::min(position + length, bits) - 1;
    const bool sign =
        isSignedType && length > 0 && ((a >> std::min(last, bits - 1)) & 1);
    result = 0;
    for (unsigned bit = 0; bit < bits; ++bit) {
      const bool value = bit < length && position + bit < bits
                             ? (a >> (position + bit)) & 1
                             : sign;
      result |= uint64_t(value) << bit;
    }
    return true;
  }
  case Op::Prmt: {
    result = 0;
    for (unsigned byte = 0; byte < 4; ++byte) {
      const unsigned selector = (c >> (4 * byte)) & 15;
      uint64_t value = ((b << 32 | a) >> (8 * (selector & 7))) & 255;
      if (selector & 8)
        value = value & 128 ? 255 : 0;
      result |= value << (8 * byte);
    }
    return true;
  }
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Approximations
//===----------------------------------------------------------------------===//

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

static uint64_t approximate(const Instruction &i, uint64_t a, uint64_t seed) {
  const auto flush = [&](float value) {
    return i.flush && std::fpclassify(value) == FP_SUBNORMAL
               ? std::copysign(0.0f, value)
               : value;
  };
  const auto isPlain = [](double value) {
    return std::isfinite(value) && value != 0;
  };
  const double draw = drawOf(a, seed);
  if (i.type == Type::F64) { // rcp: only the upper half of the bits
    const double exact = 1 / toDouble(a);
    const double far = 1 + draw * std::ldexp(1.0, -21);
    return toBits(isPlain(exact) ? exact * far : exact) & ~uint64_t(0xFFFFFFFF);
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
    // Half a unit in the last place: the other half is the last rounding's.
    if (isPlain(exact) && !isPowerOf2(x))
      absolute = 0.5 * std::ldexp(1.0, std::ilogb(exact) - 23);
    break;
  case Op::Sqrt:
    exact = std::sqrt(x);
    relative = std::ldexp(1.0, -23);
    break;
  default:
    return 0;
  }
  const double result =
      isPlain(exact) ? exact * (1 + draw * relative) + draw * absolute : exact;
  // A reciprocal is a power of 2 of such alone: NVIDIA's division of 128 bits
  // takes its significand for a number that is not 0.
  const bool isOff =
      i.op == Op::Rcp && isPowerOf2(float(result)) && !isPowerOf2(x);
  return toBits(flush(float(isOff ? exact : result)));
}

//===----------------------------------------------------------------------===//
// By type
//===----------------------------------------------------------------------===//

bool ptx::compute(const Instruction &i, uint64_t a, uint64_t b, uint64_t c,
                  Carry &carry, uint64_t errors, uint64_t &result) {
  if (i.approximate) {
    result = approximate(i, a, errors);
    return true;
  }
  bool isKnown = true;
  switch (i.type) {
  case Type::F32: {
    float value = 0;
    isKnown = computeFloat(i, toFloat(a), toFloat(b), toFloat(c), value);
    result = toBits(value);
    return isKnown;
  }
  case Type::F64: {
    double value = 0;
    isKnown = computeFloat(i, toDouble(a), toDouble(b), toDouble(c), value);
    result = toBits(value);
    return isKnown;
  }
  case Type::BF16:
  case Type::F16: {
    Instruction exact = i;
    exact.rounding = Rounding::Zero;
    const auto from = [&](uint64_t bits) { return fromSmall(i.type, bits); };
    result = computeSmall(i.type, [&] {
      double value = 0;
      isKnown = computeFloat(exact, from(a), from(b), from(c), value);
      return value;
    });
    return isKnown;
  }
  case Type::S16x2:
  case Type::U16x2: {
    Instruction one = i;
    one.type = i.type == Type::S16x2 ? Type::S16 : Type::U16;
    result = 0;
    for (unsigned at : {0, 16}) {
      uint64_t part = 0;
      isKnown &= computeInteger(one, a >> at, b >> at, c >> at, carry, part);
      result |= (part & 0xFFFF) << at;
    }
    return isKnown;
  }
  default:
    return computeInteger(i, a, b, c, carry, result);
  }
}

static double readFloat(Type type, uint64_t bits) {
  return type == Type::F64 ? toDouble(bits)
         : isSmall(type)   ? fromSmall(type, bits)
                           : toFloat(bits);
}

bool ptx::compare(const Instruction &i, uint64_t a, uint64_t b) {
  const auto isTrue = [&](auto x, auto y) {
    return (i.compare & (x < y    ? kLess
                         : x == y ? kEqual
                         : x > y  ? kGreater
                                  : kUnordered)) != 0;
  };
  if (isFloat(i.type))
    return isTrue(readFloat(i.type, a), readFloat(i.type, b));
  a = extend(i.type, a);
  b = extend(i.type, b);
  return isSigned(i.type) ? isTrue(int64_t(a), int64_t(b)) : isTrue(a, b);
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

/// What does not fit becomes the nearest number. NaN is 0, and of 64 bits,
/// there or here, the number with but the upper bit.
static uint64_t toInteger(const Instruction &i, double x) {
  const unsigned bits = bytesOf(i.type) * 8;
  const uint64_t upper = uint64_t(1) << (bits - 1);
  if (std::isnan(x))
    return i.from == Type::F64 || bits == 64 ? extend(i.type, upper) : 0;
  x = toWhole(x, i.rounding);
  if (isSigned(i.type)) {
    const double limit = std::ldexp(1.0, int(bits) - 1);
    return x >= limit   ? extend(i.type, upper - 1)
           : x < -limit ? extend(i.type, upper)
                        : uint64_t(int64_t(x));
  }
  return x >= std::ldexp(1.0, int(bits)) ? extend(i.type, ~uint64_t(0))
         : x < 0                         ? 0
                                         : uint64_t(x);
}

uint64_t ptx::convert(const Instruction &i, uint64_t value) {
  const Type to = i.type;
  if (isFloat(i.from)) {
    double x = readFloat(i.from, value);
    if (!isFloat(to))
      return toInteger(i, x);
    if (i.toInteger)
      x = toWhole(x, i.rounding);
    if (i.saturate)
      x = std::isnan(x) ? 0 : std::min(1.0, std::max(0.0, x));
    if (to == Type::F64)
      return toBits(x);
    return isSmall(to) ? toSmall(to, x)
                       : toBits(narrow(x, i.toInteger ? Rounding::Nearest
                                                      : i.rounding));
  }
  const uint64_t number = extend(i.from, value);
  if (!isFloat(to)) // a register that is wider than its type is filled
    return extend(to, number);
  volatile uint64_t unsignedNumber = number;
  volatile int64_t signedNumber = int64_t(number);
  const auto as = [&](auto zero, Rounding rounding) {
    using T = decltype(zero);
    return rounded<T>(rounding, [&] {
      return isSigned(i.from) ? T(signedNumber) : T(unsignedNumber);
    });
  };
  if (isSmall(to))
    return computeSmall(to, [&] { return as(0.0, Rounding::Zero); });
  return to == Type::F64 ? toBits(as(0.0, i.rounding))
                         : toBits(as(0.0f, i.rounding));
}

uint64_t ptx::convertPair(const Instruction &i, uint64_t high, uint64_t low) {
  Instruction one = i;
  one.type = i.type == Type::BF16x2 ? Type::BF16 : Type::F16;
  return convert(one, high) << 16 | convert(one, low);
}
