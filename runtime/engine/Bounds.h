//===- Bounds.h - integers outside of an argument's bounds ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Integers index tables. Compiled kernels clamp an index beyond the end to the
// last row, so that training would silently use a wrong value.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_BOUNDS_H
#define PPRT_ENGINE_BOUNDS_H

#include "pprt/Ppx.h"

#include <cstdint>
#include <optional>

namespace pprt {

struct IntegerBeyond {
  uint64_t index; ///< index among the given integers
  int64_t value;
};

/// Returns the first of `count` integers, at any address, outside [0, bound). A
/// bound of 0 is unknown; elements other than i32 and i64 have none.
std::optional<IntegerBeyond> findBeyond(ppx::ElementType element,
                                        uint64_t bound, const void *values,
                                        uint64_t count);

} // namespace pprt

#endif // PPRT_ENGINE_BOUNDS_H
