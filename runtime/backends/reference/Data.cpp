//===- Data.cpp - what collectives do to bytes, naively -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Data.h"

#include "pprt/Program.h"

#include <cmath>
#include <cstring>

using namespace pprt;
using namespace pprt::reference;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

namespace {
/// The stored type of an element, and the type of its sums.
template <typename StoredType, typename ValueType> struct Plain {
  using Stored = StoredType;
  using Value = ValueType;
  static Value load(Stored stored) { return Value(stored); }
  static Stored store(Value value) { return Stored(value); }
};
struct Bf16 {
  using Stored = uint16_t;
  using Value = float;
  static float load(uint16_t stored) {
    const uint32_t bits = uint32_t(stored) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  /// Rounds to nearest, ties to even; a NaN stays one.
  static uint16_t store(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    if (std::isnan(value))
      return uint16_t(bits >> 16 | 0x40);
    return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};
/// Sign, five bits of exponent, ten of the fraction.
struct F16 {
  using Stored = uint16_t;
  using Value = float;
  static float load(uint16_t stored) {
    const int exponent = stored >> 10 & 31, fraction = stored & 1023;
    const float magnitude =
        exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
        : exponent == 0 ? std::ldexp(float(fraction), -24)
                        : std::ldexp(float(fraction + 1024), exponent - 25);
    return stored >> 15 ? -magnitude : magnitude;
  }
  /// Rounds to nearest, ties to even; a NaN stays one.
  static uint16_t store(float value) {
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value))
      return sign | 0x7e00;
    const float magnitude = std::fabs(value);
    if (magnitude >= 65520) // half a unit above the largest number
      return sign | 0x7c00;
    const int exponent = magnitude < 0x1p-14f ? -14 : std::ilogb(magnitude);
    // In units of the last bit; from 1024 on the first one is the exponent's.
    const float units = std::nearbyint(std::ldexp(magnitude, 10 - exponent));
    return uint16_t(sign + (exponent + 14) * 1024 + int(units));
  }
};
} // namespace

/// Calls `visitor` with the traits of `element`.
template <typename Visitor>
static void withElement(ppx::ElementType element, Visitor visitor) {
  switch (element) {
  case ppx::ElementType_f32:
    return visitor(Plain<float, float>());
  case ppx::ElementType_f64:
    return visitor(Plain<double, double>());
  case ppx::ElementType_bf16:
    return visitor(Bf16());
  case ppx::ElementType_f16:
    return visitor(F16());
  // Unsigned, so that sums wrap.
  case ppx::ElementType_i32:
    return visitor(Plain<uint32_t, uint32_t>());
  case ppx::ElementType_i64:
    return visitor(Plain<uint64_t, uint64_t>());
  case ppx::ElementType_i8:
  case ppx::ElementType_i1:
    return visitor(Plain<uint8_t, uint8_t>());
  }
}

template <typename Value>
static Value combine(ppx::Reduction reduction, Value a, Value b) {
  // Compares integers as signed numbers.
  auto less = [](Value x, Value y) {
    if constexpr (std::is_integral_v<Value>)
      return std::make_signed_t<Value>(x) < std::make_signed_t<Value>(y);
    else
      return x < y;
  };
  // The first NaN is both the largest and the smallest.
  auto isNaN = [](Value x) { return x != x; };
  switch (reduction) {
  case ppx::Reduction_sum:
    return Value(a + b);
  case ppx::Reduction_max:
    return !isNaN(a) && (isNaN(b) || less(a, b)) ? b : a;
  case ppx::Reduction_min:
    return !isNaN(a) && (isNaN(b) || less(b, a)) ? b : a;
  case ppx::Reduction_and_:
  case ppx::Reduction_or_:
    break;
  }
  if constexpr (std::is_integral_v<Value>)
    return reduction == ppx::Reduction_and_ ? Value(a & b) : Value(a | b);
  return a;
}

static Bytes reduce(ppx::ElementType element, ppx::Reduction reduction,
                    const std::vector<Bytes> &inputs) {
  Bytes result = inputs.front();
  withElement(element, [&](auto traits) {
    using Traits = decltype(traits);
    using Stored = typename Traits::Stored;
    for (size_t at = 0; at < result.size(); at += sizeof(Stored)) {
      auto element = [&](const Bytes &bytes) {
        Stored stored;
        std::memcpy(&stored, &bytes[at], sizeof(stored));
        return Traits::load(stored);
      };
      auto value = element(inputs.front());
      for (size_t member = 1; member < inputs.size(); ++member)
        value = combine(reduction, value, element(inputs[member]));
      const Stored stored = Traits::store(value);
      std::memcpy(&result[at], &stored, sizeof(stored));
    }
  });
  return result;
}

bool reference::isFinite(ppx::ElementType element, const uint8_t *bytes,
                         uint64_t size) {
  bool finite = true;
  withElement(element, [&](auto traits) {
    using Traits = decltype(traits);
    for (uint64_t at = 0; at < size; at += sizeof(typename Traits::Stored)) {
      typename Traits::Stored stored;
      std::memcpy(&stored, bytes + at, sizeof(stored));
      finite = finite && std::isfinite(double(Traits::load(stored)));
    }
  });
  return finite;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

namespace {
/// A tensor viewed around one dimension: `outer` rows of `bytes` each, where
/// `bytes` spans the dimension and all inside of it.
struct Rows {
  uint64_t outer = 1, bytes;
  Rows(const std::vector<uint64_t> &shape, uint32_t dimension, size_t size) {
    for (uint32_t i = 0; i < dimension; ++i)
      outer *= shape[i];
    bytes = outer == 0 ? 0 : size / outer;
  }
};
} // namespace

/// Returns part `index` of `count` equal parts of `tensor` along `dimension`.
static Bytes slice(const Bytes &tensor, const std::vector<uint64_t> &shape,
                   uint32_t dimension, uint64_t index, uint64_t count) {
  const Rows rows(shape, dimension, tensor.size());
  const uint64_t part = rows.bytes / count;
  Bytes result;
  for (uint64_t row = 0; row < rows.outer; ++row) {
    auto begin = tensor.begin() + ptrdiff_t(row * rows.bytes + index * part);
    result.insert(result.end(), begin, begin + ptrdiff_t(part));
  }
  return result;
}

/// Returns the tensors of `shape` one after another along `dimension`.
static Bytes concatenate(const std::vector<Bytes> &tensors,
                         const std::vector<uint64_t> &shape,
                         uint32_t dimension) {
  const Rows rows(shape, dimension, tensors.front().size());
  Bytes result;
  for (uint64_t row = 0; row < rows.outer; ++row)
    for (const Bytes &tensor : tensors) {
      auto begin = tensor.begin() + ptrdiff_t(row * rows.bytes);
      result.insert(result.end(), begin, begin + ptrdiff_t(rows.bytes));
    }
  return result;
}

std::vector<Bytes>
reference::runCollective(const ppx::InstructionT &instruction, size_t operand,
                         const ppx::SlotT &input,
                         const std::vector<Bytes> &inputs,
                         const std::vector<size_t> &receivers) {
  const size_t members = inputs.size();
  const std::vector<uint64_t> &shape = input.shape;
  std::vector<Bytes> outputs(members);
  switch (instruction.collective) {
  case ppx::CollectiveKind_all_reduce:
    outputs.assign(members,
                   reduce(input.element, instruction.reduction, inputs));
    break;
  case ppx::CollectiveKind_all_gather:
    outputs.assign(members,
                   concatenate(inputs, shape, instruction.dimensions[operand]));
    break;
  case ppx::CollectiveKind_reduce_scatter: {
    const Bytes sum = reduce(input.element, instruction.reduction, inputs);
    for (size_t i = 0; i < members; ++i)
      outputs[i] =
          slice(sum, shape, instruction.dimensions[operand], i, members);
    break;
  }
  case ppx::CollectiveKind_all_to_all: {
    std::vector<uint64_t> part = shape;
    const uint32_t split = instruction.split_dimensions[operand];
    part[split] /= members;
    for (size_t i = 0; i < members; ++i) {
      std::vector<Bytes> received;
      for (const Bytes &sent : inputs)
        received.push_back(slice(sent, shape, split, i, members));
      outputs[i] = concatenate(received, part, instruction.dimensions[operand]);
    }
    break;
  }
  case ppx::CollectiveKind_permute:
    for (size_t i = 0; i < members; ++i)
      outputs[receivers[i]] = inputs[i];
    break;
  }
  return outputs;
}
