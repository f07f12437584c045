//===- ElementFormats.h - elements in memory and as numbers -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A format has the type `Stored` of an element in memory, the type `Value` that
// it is computed in, and the conversions between the two.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ELEMENTFORMATS_H
#define PPRT_ELEMENTFORMATS_H

#include "pprt/NarrowFloats.h"
#include "pprt/Ppx.h"

#pragma GCC visibility push(default)
namespace pprt {

template <typename T> struct PlainFormat {
  using Stored = T;
  using Value = T;
  static PPRT_ALWAYS_INLINE T load(T value) { return value; }
  static PPRT_ALWAYS_INLINE T store(T value) { return value; }
};
/// Computed in f32 and rounded.
template <float (*Widen)(uint16_t), uint16_t (*Round)(float)>
struct NarrowFormat {
  using Stored = uint16_t;
  using Value = float;
  static PPRT_ALWAYS_INLINE float load(uint16_t value) { return Widen(value); }
  static PPRT_ALWAYS_INLINE uint16_t store(float value) { return Round(value); }
};
using BFloat16Format = NarrowFormat<fromBFloat16, toBFloat16>;
using Float16Format = NarrowFormat<fromFloat16, toFloat16>;

/// Calls `visitor` with the format of a known element type.
template <typename Visitor>
auto withFormat(ppx::ElementType element, Visitor &&visitor) {
  switch (element) {
  case ppx::ElementType_f32:
    return visitor(PlainFormat<float>());
  case ppx::ElementType_f64:
    return visitor(PlainFormat<double>());
  case ppx::ElementType_bf16:
    return visitor(BFloat16Format());
  case ppx::ElementType_f16:
    return visitor(Float16Format());
  case ppx::ElementType_i64:
    return visitor(PlainFormat<int64_t>());
  case ppx::ElementType_i32:
    return visitor(PlainFormat<int32_t>());
  case ppx::ElementType_i8:
    return visitor(PlainFormat<int8_t>());
  case ppx::ElementType_i1:
    break;
  }
  return visitor(PlainFormat<uint8_t>()); // other bytes stay, too
}

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_ELEMENTFORMATS_H
