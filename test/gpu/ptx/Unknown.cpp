//===- Unknown.cpp - which bytes of a result nobody wrote -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Compilers copy what lies between the members of a structure along with them,
// and take the members out again. Of other instructions a byte that was never
// written makes the whole result one.
//
//===----------------------------------------------------------------------===//
#include "Arithmetic.h"

using namespace ptx;

uint8_t ptx::extendUnknown(Type type, uint8_t mask) {
  const unsigned bytes = bytesOf(type);
  const uint8_t all = uint8_t((1u << bytes) - 1);
  mask &= all;
  const bool isTop = mask >> (bytes - 1) & 1;
  return isSigned(type) && isTop ? mask | uint8_t(~all) : mask;
}

uint8_t ptx::unknownBytes(const Instruction &i, const uint64_t *bits,
                          const uint8_t *masks) {
  uint8_t result = 0;
  switch (i.op) {
  case Op::Cvt:
    return isFloat(i.type) || isFloat(i.from) || i.saturate
               ? 0xFF
               : extendUnknown(i.from, masks[0]);
  case Op::And:
    for (unsigned byte = 0; byte < 8; ++byte)
      for (unsigned side : {0, 1}) {
        const bool isZero = !(masks[1 - side] >> byte & 1) &&
                            !(bits[1 - side] >> (8 * byte) & 255);
        if ((masks[side] >> byte & 1) && !isZero)
          result |= 1u << byte;
      }
    return result;
  case Op::Shr:
    if (masks[1] || bits[1] % 8 || isSigned(i.type))
      return 0xFF;
    return bits[1] >= 64 ? 0 : extendUnknown(i.type, masks[0]) >> (bits[1] / 8);
  case Op::Prmt:
    if (masks[2])
      return 0xFF;
    for (unsigned byte = 0; byte < 4; ++byte) {
      const unsigned from = bits[2] >> (4 * byte) & 7;
      const unsigned both = (masks[0] & 15u) | (masks[1] & 15u) << 4;
      result |= (both >> from & 1) << byte;
    }
    return result;
  default:
    return 0xFF;
  }
}
