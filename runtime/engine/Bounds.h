//===- Bounds.h - integers that an argument does not take -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Integers are looked up in tables. Compiled kernels take the last row for one
// beyond the end, so that a wrong value would train, and nobody would know.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_BOUNDS_H
#define PPRT_ENGINE_BOUNDS_H

#include "pprt/Ppx.h"

#include <cstdint>
#include <optional>

namespace pprt {

struct IntegerBeyond {
  uint64_t index; ///< among those given
  int64_t value;
};

/// The first of `count` integers, at any address, that is not in [0, bound).
/// A bound of 0 is unknown; other elements than i32 and i64 have none.
std::optional<IntegerBeyond> findBeyond(ppx::ElementType element,
                                        uint64_t bound, const void *values,
                                        uint64_t count);

} // namespace pprt

#endif // PPRT_ENGINE_BOUNDS_H
