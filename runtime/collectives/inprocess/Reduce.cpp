//===- Reduce.cpp - element-wise reduction in a fixed order ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Works in blocks that stay in the first-level cache: the block is accumulated
// over all sources, then written to all targets. Hence a target may alias a
// source, and each byte of memory is touched once.
//
//===----------------------------------------------------------------------===//
#include "Reduce.h"
#include "pprt/ElementFormats.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

using namespace pprt;

namespace {

constexpr uint64_t kBlock = 1024; // elements

/// Integer sums wrap, as in the compiled kernels.
struct Sum {
  template <typename T> T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
    else
      return a + b;
  }
};
/// A NaN on either side wins.
struct Max {
  template <typename T> T operator()(T a, T b) const {
    return (a > b || a != a) ? a : b;
  }
};
struct Min {
  template <typename T> T operator()(T a, T b) const {
    return (a < b || a != a) ? a : b;
  }
};
struct And {
  template <typename T> T operator()(T a, T b) const { return a & b; }
};
struct Or {
  template <typename T> T operator()(T a, T b) const { return a | b; }
};

struct Operands {
  const std::byte *const *sources;
  uint32_t sourceCount;
  uint64_t offset;
  std::byte *const *targets;
  uint32_t targetCount;
  uint64_t targetOffset;
  uint64_t count;
};

template <typename Format, typename Op> void reduceAs(const Operands &o) {
  using Stored = typename Format::Stored;
  typename Format::Value accumulator[kBlock];
  Stored rounded[kBlock];
  for (uint64_t begin = 0; begin < o.count; begin += kBlock) {
    const uint64_t n = std::min(kBlock, o.count - begin);
    for (uint32_t s = 0; s < o.sourceCount; ++s) {
      const Stored *source =
          reinterpret_cast<const Stored *>(o.sources[s] + o.offset) + begin;
      if (s == 0)
        for (uint64_t i = 0; i < n; ++i)
          accumulator[i] = Format::load(source[i]);
      else
        for (uint64_t i = 0; i < n; ++i)
          accumulator[i] = Op()(accumulator[i], Format::load(source[i]));
    }
    for (uint64_t i = 0; i < n; ++i)
      rounded[i] = Format::store(accumulator[i]);
    for (uint32_t t = 0; t < o.targetCount; ++t)
      std::memcpy(reinterpret_cast<Stored *>(o.targets[t] + o.targetOffset) +
                      begin,
                  rounded, n * sizeof(Stored));
  }
}

/// Logic is for integers.
template <typename Format>
void reduceAs(ppx::Reduction reduction, const Operands &operands) {
  constexpr bool isInteger = std::is_integral_v<typename Format::Value>;
  switch (reduction) {
  case ppx::Reduction_max:
    return reduceAs<Format, Max>(operands);
  case ppx::Reduction_min:
    return reduceAs<Format, Min>(operands);
  case ppx::Reduction_and_:
    if constexpr (isInteger)
      return reduceAs<Format, And>(operands);
    break;
  case ppx::Reduction_or_:
    if constexpr (isInteger)
      return reduceAs<Format, Or>(operands);
    break;
  case ppx::Reduction_sum:
    break;
  }
  reduceAs<Format, Sum>(operands);
}

} // namespace

void inprocess::reduce(ppx::ElementType element, ppx::Reduction reduction,
                       const std::byte *const *sources, uint32_t sourceCount,
                       uint64_t offset, std::byte *const *targets,
                       uint32_t targetCount, uint64_t targetOffset,
                       uint64_t count) {
  const Operands operands = {sources,     sourceCount,  offset, targets,
                             targetCount, targetOffset, count};
  withFormat(element, [&](auto format) {
    reduceAs<decltype(format)>(reduction, operands);
  });
}
