//===- Elements.cpp - Tensors as they lie in files ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every conversion goes through f64, which holds all values of the other types.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Elements.h"
#include "pprt/BFloat16.h"

#include <cmath>
#include <cstring>

using namespace pprt::host;
using namespace pprt::ppx;

std::string pprt::host::printShape(const std::vector<uint64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

template <typename T> static T load(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T> static void store(T value, void *to) {
  std::memcpy(to, &value, sizeof(T));
}

static double decodeF16(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  double fraction = bits & 1023;
  double magnitude = exponent == 0 ? std::ldexp(fraction, -24)
                     : exponent != 31
                         ? std::ldexp(fraction + 1024, exponent - 25)
                     : fraction == 0 ? INFINITY
                                     : NAN;
  return bits >> 15 ? -magnitude : magnitude;
}

static uint16_t encodeBF16(double value) {
  if (std::isnan(value))
    return 0x7fc0;
  // Rounding to f32 first and then to bf16 would round twice. Rounding to odd
  // first is exact: a discarded part stays visible in the last bit.
  float narrow = static_cast<float>(value);
  uint32_t bits = load<uint32_t>(&narrow);
  if (narrow != value) {
    if (std::fabs(narrow) > std::fabs(value))
      --bits;
    bits |= 1;
  }
  bits += 0x7fff + (bits >> 16 & 1);
  return static_cast<uint16_t>(bits >> 16);
}

static size_t sizeOf(FloatType type) {
  return type == FloatType::f64 ? 8 : type == FloatType::f32 ? 4 : 2;
}

static double decode(FloatType type, const void *from) {
  switch (type) {
  case FloatType::f16:
    return decodeF16(load<uint16_t>(from));
  case FloatType::bf16:
    return pprt::fromBFloat16(load<uint16_t>(from));
  case FloatType::f32:
    return load<float>(from);
  case FloatType::f64:
    return load<double>(from);
  }
  return 0;
}

void pprt::host::convertFloats(FloatType from, const void *in, ElementType to,
                               void *out, size_t count) {
  const char *source = static_cast<const char *>(in);
  char *target = static_cast<char *>(out);
  size_t step = sizeOf(from);
  for (size_t i = 0; i < count; ++i) {
    double value = decode(from, source + i * step);
    if (to == ElementType_f64)
      store<double>(value, target + i * 8);
    else if (to == ElementType_f32)
      store<float>(static_cast<float>(value), target + i * 4);
    else
      store<uint16_t>(encodeBF16(value), target + i * 2);
  }
}
