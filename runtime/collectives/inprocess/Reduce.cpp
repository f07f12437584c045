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
#include "pprt/BFloat16.h"

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

/// Loads elements of one type into the accumulator, and stores them from it.
template <typename T> struct Plain {
  using Stored = T;
  using Accumulator = T;
  static T load(T value) { return value; }
  static T store(T value) { return value; }
};
struct BFloat {
  using Stored = uint16_t;
  using Accumulator = float;
  static float load(uint16_t value) { return fromBFloat16(value); }
  static uint16_t store(float value) { return toBFloat16(value); }
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

template <typename Type, typename Op> void reduceAs(const Operands &o) {
  using Stored = typename Type::Stored;
  typename Type::Accumulator accumulator[kBlock];
  Stored rounded[kBlock];
  for (uint64_t begin = 0; begin < o.count; begin += kBlock) {
    const uint64_t n = std::min(kBlock, o.count - begin);
    for (uint32_t s = 0; s < o.sourceCount; ++s) {
      const Stored *source =
          reinterpret_cast<const Stored *>(o.sources[s] + o.offset) + begin;
      if (s == 0)
        for (uint64_t i = 0; i < n; ++i)
          accumulator[i] = Type::load(source[i]);
      else
        for (uint64_t i = 0; i < n; ++i)
          accumulator[i] = Op()(accumulator[i], Type::load(source[i]));
    }
    for (uint64_t i = 0; i < n; ++i)
      rounded[i] = Type::store(accumulator[i]);
    for (uint32_t t = 0; t < o.targetCount; ++t)
      std::memcpy(reinterpret_cast<Stored *>(o.targets[t] + o.targetOffset) +
                      begin,
                  rounded, n * sizeof(Stored));
  }
}

template <typename Type>
void reduceNumbers(ppx::Reduction reduction, const Operands &operands) {
  switch (reduction) {
  case ppx::Reduction_max:
    return reduceAs<Type, Max>(operands);
  case ppx::Reduction_min:
    return reduceAs<Type, Min>(operands);
  default:
    return reduceAs<Type, Sum>(operands);
  }
}

template <typename T>
void reduceIntegers(ppx::Reduction reduction, const Operands &operands) {
  switch (reduction) {
  case ppx::Reduction_and_:
    return reduceAs<Plain<T>, And>(operands);
  case ppx::Reduction_or_:
    return reduceAs<Plain<T>, Or>(operands);
  default:
    return reduceNumbers<Plain<T>>(reduction, operands);
  }
}

} // namespace

void inprocess::reduce(ppx::ElementType element, ppx::Reduction reduction,
                       const std::byte *const *sources, uint32_t sourceCount,
                       uint64_t offset, std::byte *const *targets,
                       uint32_t targetCount, uint64_t targetOffset,
                       uint64_t count) {
  const Operands operands = {sources,     sourceCount,  offset, targets,
                             targetCount, targetOffset, count};
  switch (element) {
  case ppx::ElementType_f32:
    return reduceNumbers<Plain<float>>(reduction, operands);
  case ppx::ElementType_f64:
    return reduceNumbers<Plain<double>>(reduction, operands);
  case ppx::ElementType_bf16:
    return reduceNumbers<BFloat>(reduction, operands);
  case ppx::ElementType_i32:
    return reduceIntegers<int32_t>(reduction, operands);
  case ppx::ElementType_i64:
    return reduceIntegers<int64_t>(reduction, operands);
  case ppx::ElementType_i1:
    return reduceIntegers<uint8_t>(reduction, operands);
  }
}
