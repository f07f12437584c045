//===- BFloat16.h - conversions between bf16 and f32 ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// bf16 is stored as the upper half of an f32. Rounding is to nearest, ties to
// even; a NaN stays a NaN.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BFLOAT16_H
#define PPRT_BFLOAT16_H

#include <cstdint>
#include <cstring>

#pragma GCC visibility push(default)
namespace pprt {

inline float fromBFloat16(uint16_t value) {
  const uint32_t bits = uint32_t(value) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

inline uint16_t toBFloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const bool isNan = (bits & 0x7fffffff) > 0x7f800000;
  return uint16_t(isNan ? (bits >> 16) | 0x40 : rounded);
}

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_BFLOAT16_H
