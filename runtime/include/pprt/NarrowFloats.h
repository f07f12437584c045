//===- NarrowFloats.h - floats of 16 bits from and to f32 -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// bf16 is stored as the upper half of an f32; f16 is IEEE's half precision.
// Rounding is to nearest, ties to even; a NaN stays a NaN. Without branches, so
// that loops are vectorised, and always inlined, so that a function that is
// compiled for several instruction sets uses each one's.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_NARROWFLOATS_H
#define PPRT_NARROWFLOATS_H

#include <cstdint>
#include <cstring>

#define PPRT_ALWAYS_INLINE inline __attribute__((always_inline))

#pragma GCC visibility push(default)
namespace pprt {

PPRT_ALWAYS_INLINE float floatOfBits(uint32_t bits) {
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

PPRT_ALWAYS_INLINE uint32_t bitsOfFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

PPRT_ALWAYS_INLINE float fromBFloat16(uint16_t value) {
  return floatOfBits(uint32_t(value) << 16);
}

PPRT_ALWAYS_INLINE uint16_t toBFloat16(float value) {
  const uint32_t bits = bitsOfFloat(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const bool isNan = (bits & 0x7fffffff) > 0x7f800000;
  return uint16_t(isNan ? (bits >> 16) | 0x40 : rounded);
}

PPRT_ALWAYS_INLINE float fromFloat16(uint16_t value) {
  // Exponents of f16 are smaller by 112; that of infinities by twice as much.
  constexpr uint32_t bias = 112u << 23, least = 1u << 23, most = 31u << 23;
  const uint32_t sign = uint32_t(value & 0x8000) << 16,
                 magnitude = uint32_t(value & 0x7fff) << 13,
                 normal = magnitude + (magnitude >= most ? 2 * bias : bias);
  // 2^-14 is added to a subnormal number by its bits, and subtracted again.
  const float subnormal =
      floatOfBits(magnitude + bias + least) - floatOfBits(bias + least);
  return floatOfBits(sign |
                     (magnitude < least ? bitsOfFloat(subnormal) : normal));
}

PPRT_ALWAYS_INLINE uint16_t toFloat16(float value) {
  constexpr uint32_t bias = 112u << 23, least = bias + (1u << 23),
                     beyond = (112u + 31) << 23, infinity = 0x7f800000;
  const uint32_t bits = bitsOfFloat(value), magnitude = bits & 0x7fffffff;
  const uint32_t normal =
      (magnitude - bias + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  // Beside 0.5 the last bit counts units of 2^-24, as in subnormal numbers.
  const uint32_t subnormal =
      bitsOfFloat(floatOfBits(magnitude) + 0.5f) - bitsOfFloat(0.5f);
  const uint32_t nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
  const uint32_t finite = magnitude < least ? subnormal : normal;
  const uint32_t rounded = magnitude < beyond ? finite : 0x7c00;
  return uint16_t(((bits >> 16) & 0x8000) |
                  (magnitude > infinity ? nan : rounded));
}

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_NARROWFLOATS_H
