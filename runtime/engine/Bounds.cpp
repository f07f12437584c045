//===- Bounds.cpp - integers outside of an argument's bounds --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Bounds.h"

#include <cstddef>
#include <cstring>

using namespace pprt;

template <typename T>
static std::optional<IntegerBeyond> find(uint64_t bound, const void *values,
                                         uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, static_cast<const std::byte *>(values) + i * sizeof(T),
                sizeof(T));
    // Negative values are out of bounds, too.
    if (value < 0 || uint64_t(value) >= bound)
      return IntegerBeyond{i, value};
  }
  return std::nullopt;
}

std::optional<IntegerBeyond> pprt::findBeyond(ppx::ElementType element,
                                              uint64_t bound,
                                              const void *values,
                                              uint64_t count) {
  if (bound == 0)
    return std::nullopt;
  if (element == ppx::ElementType_i32)
    return find<int32_t>(bound, values, count);
  if (element == ppx::ElementType_i64)
    return find<int64_t>(bound, values, count);
  if (element == ppx::ElementType_i8)
    return find<int8_t>(bound, values, count);
  return std::nullopt;
}
