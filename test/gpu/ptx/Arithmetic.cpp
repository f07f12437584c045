//===- Arithmetic.cpp - what PTX computes of scalars ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Rounding.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace ptx;

float ptx::toFloat(uint64_t bits) {
  const uint32_t word = uint32_t(bits);
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}
double ptx::toDouble(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, 8);
  return value;
}
uint64_t ptx::fromFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
uint64_t ptx::fromDouble(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  return bits;
}
uint64_t ptx::extend(Type type, uint64_t bits) {
  switch (type) {
  case Type::S8:
    return int64_t(int8_t(bits));
  case Type::S16:
    return int64_t(int16_t(bits));
  case Type::S32:
    return int64_t(int32_t(bits));
  case Type::Pred:
    return bits & 1;
  default:
    switch (bytesOf(type)) {
    case 1:
      return uint8_t(bits);
    case 2:
      return uint16_t(bits);
    case 4:
      return uint32_t(bits);
    default:
      return bits;
    }
  }
}

namespace {

template <typename T> T least(T a, T b, bool propagates) {
  if (std::isnan(a) || std::isnan(b)) {
    if (propagates || (std::isnan(a) && std::isnan(b)))
      return std::numeric_limits<T>::quiet_NaN();
    return std::isnan(a) ? b : a;
  }
  if (a == b)
    return std::signbit(a) ? a : b; // -0 is below 0
  return a < b ? a : b;
}
template <typename T> T most(T a, T b, bool propagates) {
  return -least<T>(-a, -b, propagates);
}

template <typename T>
bool computeFloat(const Instruction &i, T a, T b, T c, T &result) {
  volatile T x = a, y = b, z = c; // read in the mode of the moment
  switch (i.op) {
  case Op::Add:
    result = rounded<T>(i.rounding, [&] { return T(x + y); });
    break;
  case Op::Sub:
    result = rounded<T>(i.rounding, [&] { return T(x - y); });
    break;
  case Op::Mul:
    result = rounded<T>(i.rounding, [&] { return T(x * y); });
    break;
  case Op::Div:
    result = rounded<T>(i.rounding, [&] { return T(x / y); });
    break;
  case Op::Fma:
  case Op::Mad:
    result = rounded<T>(i.rounding, [&] { return std::fma(T(x), T(y), T(z)); });
    break;
  case Op::Sqrt:
    result = rounded<T>(i.rounding, [&] { return std::sqrt(T(x)); });
    break;
  case Op::Rcp:
    result = rounded<T>(i.rounding, [&] { return T(1 / x); });
    break;
  case Op::Neg:
    result = -a;
    break;
  case Op::Abs:
    result = std::fabs(a);
    break;
  case Op::Min:
    result = least(a, b, i.propagatesNan);
    break;
  case Op::Max:
    result = most(a, b, i.propagatesNan);
    break;
  case Op::Copysign: // the sign of the first, the size of the second
    result = std::copysign(b, a);
    break;
  default:
    return false;
  }
  return true;
}

/// Of 16 bits: in f64, rounded to odd, so that rounding that is rounding once.
bool computeSmall(const Instruction &i, uint64_t a, uint64_t b, uint64_t c,
                  uint64_t &result) {
  Instruction exact = i;
  exact.rounding = Rounding::Zero;
  double value;
  std::feclearexcept(FE_INEXACT);
  if (!computeFloat<double>(exact, fromSmall(a), fromSmall(b), fromSmall(c),
                            value))
    return false;
  result = toSmall(toOdd(value, std::fetestexcept(FE_INEXACT) != 0));
  return true;
}

unsigned __int128 wide(Type type, uint64_t value) {
  return isSigned(type)
             ? (unsigned __int128)(__int128)(int64_t)extend(type, value)
             : (unsigned __int128)extend(type, value);
}

bool computeInteger(const Instruction &i, uint64_t a, uint64_t b, uint64_t c,
                    Carry &carry, uint64_t &result) {
  const Type type = i.type;
  const unsigned bits = bytesOf(type) * 8;
  const bool isSignedType = isSigned(type);
  const Type plain = bits == 32   ? Type::U32
                     : bits == 16 ? Type::U16
                                  : Type::U64;
  auto lessThan = [&](uint64_t x, uint64_t y) {
    return isSignedType ? int64_t(x) < int64_t(y) : x < y;
  };
  a = extend(type, a);
  const uint64_t rawB = b;
  b = extend(type, b);
  switch (i.op) {
  case Op::Add:
  case Op::AddCarry: {
    const unsigned __int128 sum = (unsigned __int128)extend(plain, a) +
                                  extend(plain, b) +
                                  (i.carryIn ? carry.flag : 0);
    result = uint64_t(sum);
    if (i.carryOut)
      carry.flag = uint64_t(sum >> bits) & 1;
    return true;
  }
  case Op::Sub:
  case Op::SubCarry: {
    // The flag is a carry's: 1 where nothing is borrowed.
    const unsigned __int128 from = extend(plain, a),
                            less = (unsigned __int128)extend(plain, b) +
                                   (i.carryIn ? !carry.flag : 0);
    result = uint64_t(from - less);
    if (i.carryOut)
      carry.flag = from >= less;
    return true;
  }
  case Op::Mul:
  case Op::Mad:
  case Op::MadCarry: {
    unsigned __int128 product = wide(type, a) * wide(type, b);
    if (i.half == Half::High)
      product >>= bits;
    if (i.half == Half::Wide) {
      result = uint64_t(product) + (i.op == Op::Mad ? c : 0);
      return true;
    }
    unsigned __int128 sum = extend(plain, uint64_t(product));
    if (i.op != Op::Mul)
      sum += extend(plain, c);
    if (i.carryIn)
      sum += carry.flag;
    if (i.carryOut)
      carry.flag = uint64_t(sum >> bits) & 1;
    result = uint64_t(sum);
    return true;
  }
  case Op::Div:
  case Op::Rem: {
    const bool isDivision = i.op == Op::Div;
    if (b == 0)
      result = isDivision ? ~uint64_t(0) : a; // unspecified; never needed
    else if (isSignedType && int64_t(b) == -1)
      result = isDivision ? -a : 0;
    else if (isSignedType)
      result = isDivision ? int64_t(a) / int64_t(b) : int64_t(a) % int64_t(b);
    else
      result = isDivision ? a / b : a % b;
    return true;
  }
  case Op::Min:
    result = lessThan(b, a) ? b : a;
    return true;
  case Op::Max:
    result = lessThan(a, b) ? b : a;
    return true;
  case Op::Neg:
    result = -a;
    return true;
  case Op::Abs:
    result = int64_t(a) < 0 ? -a : a;
    return true;
  case Op::And:
    result = a & b;
    return true;
  case Op::Or:
    result = a | b;
    return true;
  case Op::Xor:
    result = a ^ b;
    return true;
  case Op::Not:
    result = ~a;
    return true;
  case Op::Shl: {
    const uint32_t by = uint32_t(rawB);
    result = by >= bits ? 0 : a << by;
    return true;
  }
  case Op::Shr: {
    const uint32_t by = std::min<uint32_t>(uint32_t(rawB), bits);
    if (isSignedType)
      result = int64_t(a) >> std::min<uint32_t>(by, 63);
    else
      result = by >= bits ? 0 : a >> by;
    return true;
  }
  case Op::Shf: { // to the left, of two words
    const uint64_t both = (uint64_t(uint32_t(b)) << 32) | uint32_t(a);
    result = uint32_t((both << (c & 31)) >> 32);
    return true;
  }
  case Op::Clz: {
    uint64_t count = 0;
    for (int bit = int(bits) - 1; bit >= 0 && !((a >> bit) & 1); --bit)
      ++count;
    result = count;
    return true;
  }
  case Op::Popc:
    result = __builtin_popcountll(a);
    return true;
  case Op::Bfe: {
    const unsigned position = rawB & 255, length = c & 255;
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
    const uint64_t both = (uint64_t(uint32_t(b)) << 32) | uint32_t(a);
    result = 0;
    for (unsigned byte = 0; byte < 4; ++byte) {
      const unsigned selector = (c >> (4 * byte)) & 15;
      uint64_t value = (both >> (8 * (selector & 7))) & 255;
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

} // namespace

bool ptx::compute(const Instruction &i, uint64_t a, uint64_t b, uint64_t c,
                  Carry &carry, const Approximation &approximation,
                  uint64_t &result) {
  if (i.approximate) {
    result = approximate(i, a, approximation);
    return true;
  }
  switch (i.type) {
  case Type::F32: {
    float value;
    if (!computeFloat(i, toFloat(a), toFloat(b), toFloat(c), value))
      return false;
    result = fromFloat(value);
    return true;
  }
  case Type::F64: {
    double value;
    if (!computeFloat(i, toDouble(a), toDouble(b), toDouble(c), value))
      return false;
    result = fromDouble(value);
    return true;
  }
  case Type::BF16:
    return computeSmall(i, a, b, c, result);
  default:
    return computeInteger(i, a, b, c, carry, result);
  }
}

bool ptx::compare(const Instruction &i, uint64_t a, uint64_t b) {
  auto floats = [&](double x, double y) {
    const bool isUnordered = std::isnan(x) || std::isnan(y);
    switch (i.compare) {
    case Compare::Eq:
      return x == y;
    case Compare::Ne:
      return !isUnordered && x != y;
    case Compare::Lt:
      return x < y;
    case Compare::Le:
      return x <= y;
    case Compare::Gt:
      return x > y;
    case Compare::Ge:
      return x >= y;
    case Compare::Equ:
      return isUnordered || x == y;
    case Compare::Neu:
      return isUnordered || x != y;
    case Compare::Ltu:
      return isUnordered || x < y;
    case Compare::Leu:
      return isUnordered || x <= y;
    case Compare::Gtu:
      return isUnordered || x > y;
    case Compare::Geu:
      return isUnordered || x >= y;
    case Compare::Num:
      return !isUnordered;
    case Compare::Nan:
      return isUnordered;
    }
    return false;
  };
  if (i.type == Type::F32)
    return floats(toFloat(a), toFloat(b));
  if (i.type == Type::F64)
    return floats(toDouble(a), toDouble(b));
  if (i.type == Type::BF16)
    return floats(fromSmall(a), fromSmall(b));
  a = extend(i.type, a);
  b = extend(i.type, b);
  const bool isLess = isSigned(i.type) ? int64_t(a) < int64_t(b) : a < b;
  switch (i.compare) {
  case Compare::Eq:
    return a == b;
  case Compare::Ne:
    return a != b;
  case Compare::Lt:
    return isLess;
  case Compare::Le:
    return isLess || a == b;
  case Compare::Gt:
    return !isLess && a != b;
  default:
    return !isLess;
  }
}
