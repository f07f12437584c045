//===- Elements.h - strided tensors of any float, read as one type -*- C++ -*-//
//
// SPDX-License-Identifier: Apache-2.0
//
// Copies between a strided matrix of f32, f64 or bf16 in a slot and a dense
// row-major matrix of the type that is computed in.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_ELEMENTS_H
#define PPRT_BACKENDS_CPU_ELEMENTS_H

#include "pprt/BFloat16.h"
#include "pprt/ppx_generated.h"

namespace pprt::cpu {

/// A matrix of `rows` x `columns` elements somewhere in memory.
template <typename Pointer> struct Strided {
  Pointer data;
  ppx::ElementType element;
  uint64_t rowStride, columnStride;
};
using StridedInput = Strided<const std::byte *>;
using StridedOutput = Strided<std::byte *>;

/// Calls f(tag) with a value whose type converts elements to and from T.
template <typename T> struct StoredAs {
  using Stored = T;
  template <typename Compute> static Compute load(T value) { return value; }
  template <typename Compute> static T store(Compute value) { return T(value); }
};
struct StoredAsBFloat16 {
  using Stored = uint16_t;
  template <typename Compute> static Compute load(uint16_t value) {
    return fromBFloat16(value);
  }
  template <typename Compute> static uint16_t store(Compute value) {
    return toBFloat16(float(value));
  }
};
template <typename Function>
void withElement(ppx::ElementType element, Function &&function) {
  switch (element) {
  case ppx::ElementType_f64:
    return function(StoredAs<double>());
  case ppx::ElementType_bf16:
    return function(StoredAsBFloat16());
  default:
    return function(StoredAs<float>());
  }
}

/// to[r * columns + c] = from(r, c)
template <typename Compute>
void loadMatrix(const StridedInput &from, uint64_t rows, uint64_t columns,
                Compute *to) {
  withElement(from.element, [&](auto format) {
    using Format = decltype(format);
    using Stored = typename Format::Stored;
    const auto *source = reinterpret_cast<const Stored *>(from.data);
    if (from.columnStride == 1 || from.rowStride != 1) {
      for (uint64_t r = 0; r < rows; ++r)
        for (uint64_t c = 0; c < columns; ++c)
          to[r * columns + c] = Format::template load<Compute>(
              source[r * from.rowStride + c * from.columnStride]);
      return;
    }
    for (uint64_t c = 0; c < columns; ++c)
      for (uint64_t r = 0; r < rows; ++r)
        to[r * columns + c] =
            Format::template load<Compute>(source[r + c * from.columnStride]);
  });
}

/// to(r, c) = from[r * columns + c], or += if `accumulate`.
template <typename Compute>
void storeMatrix(const Compute *from, uint64_t rows, uint64_t columns,
                 const StridedOutput &to, bool accumulate) {
  withElement(to.element, [&](auto format) {
    using Format = decltype(format);
    using Stored = typename Format::Stored;
    auto *target = reinterpret_cast<Stored *>(to.data);
    for (uint64_t r = 0; r < rows; ++r)
      for (uint64_t c = 0; c < columns; ++c) {
        Stored &element = target[r * to.rowStride + c * to.columnStride];
        const Compute value = from[r * columns + c];
        element = Format::template store<Compute>(
            accumulate ? Format::template load<Compute>(element) + value
                       : value);
      }
  });
}

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_ELEMENTS_H
