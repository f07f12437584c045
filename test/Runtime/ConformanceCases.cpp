//===- ConformanceCases.cpp - comm ops and what they must leave -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ConformanceCases.h"
#include "pprt/NarrowFloats.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

using namespace pprt;
using namespace pprt::conformance;

static uint64_t count(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), uint64_t(1),
                         std::multiplies<uint64_t>());
}

std::string Case::name() const {
  std::string text =
      isTransfer ? "transfer" : ppx::EnumNameCollectiveKind(kind);
  text += std::string(" ") + ppx::EnumNameReduction(reduction) + " of " +
          ppx::EnumNameElementType(element);
  for (const Operand &operand : operands) {
    text += " [";
    for (uint64_t extent : operand.in)
      text += std::to_string(extent) + " ";
    text += "] along " + std::to_string(operand.dimension) + ", split " +
            std::to_string(operand.split);
  }
  text += ", ranks";
  for (uint32_t rank : ranks)
    text += " " + std::to_string(rank);
  return text + (inPlace ? ", in place" : "");
}

Shape Case::outShape(size_t operand) const {
  Shape shape = operands[operand].in;
  if (isTransfer)
    return shape;
  const uint32_t dimension = operands[operand].dimension;
  switch (kind) {
  case ppx::CollectiveKind_all_gather:
    shape[dimension] *= memberCount();
    break;
  case ppx::CollectiveKind_reduce_scatter:
    shape[dimension] /= memberCount();
    break;
  case ppx::CollectiveKind_all_to_all:
    shape[operands[operand].split] /= memberCount();
    shape[dimension] *= memberCount();
    break;
  default:
    break;
  }
  return shape;
}

uint64_t Case::inputBytes(uint32_t member, size_t operand) const {
  if (isTransfer && member == 1)
    return 0;
  return count(operands[operand].in) * elementSize(element);
}

uint64_t Case::outputBytes(uint32_t member, size_t operand) const {
  if (isTransfer && member == 0)
    return 0;
  return count(outShape(operand)) * elementSize(element);
}

std::vector<Move> Case::moves() const {
  if (isTransfer)
    return movesOfTransfer(inputBytes(0, 0));
  ppx::InstructionT instruction;
  instruction.collective = kind;
  instruction.reduction = reduction;
  std::vector<ppx::SlotT> slots(operands.size());
  std::vector<const ppx::SlotT *> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    instruction.dimensions.push_back(operands[i].dimension);
    instruction.split_dimensions.push_back(operands[i].split);
    slots[i].shape = operands[i].in;
    slots[i].element = element;
    slots[i].bytes = count(operands[i].in) * elementSize(element);
    inputs.push_back(&slots[i]);
  }
  return movesOfCollective(instruction, inputs, memberCount(), receivers);
}

uint64_t Case::sentBytes(uint32_t member) const {
  const uint64_t n = memberCount();
  uint64_t bytes = 0;
  for (size_t i = 0; i < operands.size(); ++i)
    bytes += inputBytes(member, i);
  if (isTransfer || n == 1)
    return isTransfer ? bytes : 0;
  switch (kind) {
  case ppx::CollectiveKind_all_reduce:
    return 2 * (n - 1) * bytes / n;
  case ppx::CollectiveKind_all_gather:
    return (n - 1) * bytes;
  case ppx::CollectiveKind_reduce_scatter:
  case ppx::CollectiveKind_all_to_all:
    return (n - 1) * bytes / n;
  case ppx::CollectiveKind_permute:
    break;
  }
  return receivers[member] == member ? 0 : bytes;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static uint64_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ x >> 33;
}

namespace {
/// How elements of a type are made, added and compared.
template <typename T> struct Number {
  using Stored = T;
  using Sum = T;
  static Stored make(uint64_t bits) {
    if constexpr (std::is_floating_point_v<T>) {
      if (bits % 997 == 0)
        return bits & 1024 ? T(INFINITY) : T(NAN);
      // ldexp() took a third of the time of large cases.
      return T((double(bits % 2000) - 1000) * double(1u << (bits >> 40) % 30));
    } else if constexpr (std::is_same_v<T, uint8_t>) { // of i1
      return T(bits & 1);
    } else {
      return T(bits);
    }
  }
  static Sum load(Stored value) { return value; }
  static Stored store(Sum value) { return value; }
};
struct BrainFloat {
  using Stored = uint16_t;
  using Sum = float;
  static Stored make(uint64_t bits) {
    return toBFloat16(Number<float>::make(bits));
  }
  static Sum load(Stored value) { return fromBFloat16(value); }
  static Stored store(Sum value) { return toBFloat16(value); }
};
struct HalfFloat {
  using Stored = uint16_t;
  using Sum = float;
  /// Of less exponents than the others: few of these numbers are infinite.
  static Stored make(uint64_t bits) {
    return toFloat16(Number<float>::make(bits) * 0x1p-20f);
  }
  static Sum load(Stored value) { return fromFloat16(value); }
  static Stored store(Sum value) { return toFloat16(value); }
};

template <typename T> T combine(ppx::Reduction reduction, T a, T b) {
  switch (reduction) {
  case ppx::Reduction_max:
    return (a > b || a != a) ? a : b;
  case ppx::Reduction_min:
    return (a < b || a != a) ? a : b;
  case ppx::Reduction_and_:
    if constexpr (std::is_integral_v<T>)
      return a & b;
    break;
  case ppx::Reduction_or_:
    if constexpr (std::is_integral_v<T>)
      return a | b;
    break;
  case ppx::Reduction_sum:
    break;
  }
  if constexpr (std::is_integral_v<T>)
    return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
  else
    return a + b;
}

/// Calls f with the number type of the element.
template <typename Function>
auto withNumber(ppx::ElementType element, Function f) {
  switch (element) {
  case ppx::ElementType_f32:
    return f(Number<float>());
  case ppx::ElementType_f64:
    return f(Number<double>());
  case ppx::ElementType_bf16:
    return f(BrainFloat());
  case ppx::ElementType_f16:
    return f(HalfFloat());
  case ppx::ElementType_i8:
    return f(Number<int8_t>());
  case ppx::ElementType_i32:
    return f(Number<int32_t>());
  case ppx::ElementType_i64:
    return f(Number<int64_t>());
  case ppx::ElementType_i1:
    break;
  }
  return f(Number<uint8_t>());
}

/// The member and element of the input from which a collective copies an
/// element of an output; for reductions, the element of all inputs.
struct Origin {
  uint32_t member;
  uint64_t index;
};
} // namespace

template <typename N>
static typename N::Stored valueOf(const Case &test, uint32_t round,
                                  uint32_t member, size_t operand,
                                  uint64_t index) {
  const uint64_t bits =
      mix(index * 64 + member + (round * 16 + operand) * 0x9e3779b97f4a7c15ULL);
  if (!test.isExact || sizeof(typename N::Stored) == 1)
    return N::make(bits);
  return N::store(typename N::Sum(int(bits % 16) - 8));
}

void Case::fillInput(uint32_t round, uint32_t member, size_t operand,
                     std::byte *input) const {
  withNumber(element, [&](auto number) {
    using N = decltype(number);
    auto *values = reinterpret_cast<typename N::Stored *>(input);
    const uint64_t size = count(operands[operand].in);
    for (uint64_t i = 0; i < size; ++i)
      values[i] = valueOf<N>(*this, round, member, operand, i);
  });
}

static Shape tuple(const Shape &shape, uint64_t index) {
  Shape result(shape.size());
  for (size_t d = shape.size(); d-- > 0; index /= shape[d])
    result[d] = index % shape[d];
  return result;
}

static uint64_t linear(const Shape &shape, const Shape &index) {
  uint64_t result = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    result = result * shape[d] + index[d];
  return result;
}

static Origin originOf(const Case &test, uint32_t member, size_t operand,
                       const Shape &outShape, uint64_t element) {
  if (test.isTransfer)
    return {0, element};
  const Operand &shape = test.operands[operand];
  const uint32_t along = shape.dimension;
  switch (test.kind) {
  case ppx::CollectiveKind_all_reduce:
    break;
  case ppx::CollectiveKind_permute:
    for (uint32_t source = 0; source < test.memberCount(); ++source)
      if (test.receivers[source] == member)
        return {source, element};
    break;
  case ppx::CollectiveKind_all_gather: {
    Shape index = tuple(outShape, element);
    const uint32_t source = uint32_t(index[along] / shape.in[along]);
    index[along] %= shape.in[along];
    return {source, linear(shape.in, index)};
  }
  case ppx::CollectiveKind_reduce_scatter: {
    Shape index = tuple(outShape, element);
    index[along] += member * outShape[along];
    return {0, linear(shape.in, index)};
  }
  case ppx::CollectiveKind_all_to_all: {
    Shape index = tuple(outShape, element);
    Shape part = shape.in;
    part[shape.split] /= test.memberCount();
    const uint32_t source = uint32_t(index[along] / part[along]);
    index[along] %= part[along];
    index[shape.split] += member * part[shape.split];
    return {source, linear(shape.in, index)};
  }
  }
  return {0, element};
}

std::string Case::findFault(uint32_t round, uint32_t member, size_t operand,
                            const std::byte *output) const {
  const bool reduces =
      !isTransfer && (kind == ppx::CollectiveKind_all_reduce ||
                      kind == ppx::CollectiveKind_reduce_scatter);
  return withNumber(element, [&](auto number) -> std::string {
    using N = decltype(number);
    const auto *got = reinterpret_cast<const typename N::Stored *>(output);
    const Shape shape = outShape(operand);
    const uint64_t size =
        outputBytes(member, operand) / sizeof(typename N::Stored);
    // Some elements of large outputs, at a distance that divides no chunk.
    const uint64_t step = size > uint64_t(1) << 20 ? 31 : 1;
    for (uint64_t i = 0; i < size; i += step) {
      const Origin origin = originOf(*this, member, operand, shape, i);
      typename N::Stored expected =
          valueOf<N>(*this, round, origin.member, operand, origin.index);
      if (reduces && memberCount() > 1) {
        typename N::Sum sum = N::load(expected);
        for (uint32_t source = 1; source < memberCount(); ++source)
          sum = combine(
              reduction, sum,
              N::load(valueOf<N>(*this, round, source, operand, origin.index)));
        expected = N::store(sum);
      }
      if (std::memcmp(&got[i], &expected, sizeof(expected)) == 0)
        continue;
      // Which NaN a sum of several is, is not specified.
      if (const auto a = N::load(got[i]), b = N::load(expected);
          reduces && a != a && b != b)
        continue;
      return name() + ": round " + std::to_string(round) + ", member " +
             std::to_string(member) + ", operand " + std::to_string(operand) +
             ": element " + std::to_string(i) + " expects " +
             std::to_string(N::load(expected)) + ", got " +
             std::to_string(N::load(got[i]));
    }
    return "";
  });
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// All, one alone, neighbours, the ends, and all but one in another order.
static std::vector<std::vector<uint32_t>> groupsOf(uint32_t worldSize) {
  std::vector<uint32_t> all(worldSize);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::vector<uint32_t>> groups = {all, {worldSize - 1}};
  if (worldSize > 1)
    groups.push_back({worldSize - 2, worldSize - 1});
  if (worldSize > 2) {
    groups.push_back({0, worldSize - 1});
    groups.push_back({all.rbegin(), all.rend() - 1});
  }
  return groups;
}

static std::vector<ppx::Reduction> reductionsOf(ppx::ElementType element) {
  using namespace ppx;
  if (element == ElementType_i1)
    return {Reduction_and_, Reduction_or_};
  return {Reduction_sum, Reduction_max, Reduction_min};
}

/// Shapes of one input from which n members can cut parts.
static std::vector<Operand> operandsOf(ppx::CollectiveKind kind, uint64_t n) {
  switch (kind) {
  case ppx::CollectiveKind_all_reduce:
  case ppx::CollectiveKind_permute:
    return {{{0}}, {{1}}, {{7}}, {{10'007}}};
  case ppx::CollectiveKind_all_gather:
    return {{{0}}, {{1}}, {{3, 5}, 0}, {{3, 5}, 1}, {{13, 11, 7}, 1}};
  case ppx::CollectiveKind_reduce_scatter:
    return {
        {{0}}, {{n}}, {{3 * n, 5}, 0}, {{3, 5 * n}, 1}, {{13, 11 * n, 7}, 1}};
  case ppx::CollectiveKind_all_to_all:
    return {{{0, 3}, 1, 0},           {{n, 1}, 1, 0},
            {{1, n}, 0, 1},           {{3 * n, 5}, 0, 0},
            {{3 * n, 5, 7}, 2, 0},    {{3, 5, 7 * n}, 0, 2},
            {{13, 5 * n, 3, 7}, 3, 1}};
  }
  return {};
}

std::vector<Case> conformance::smallCases(uint32_t worldSize) {
  using namespace ppx;
  std::vector<Case> cases;
  for (const std::vector<uint32_t> &group : groupsOf(worldSize)) {
    for (CollectiveKind kind : EnumValuesCollectiveKind())
      for (ElementType element : EnumValuesElementType()) {
        const bool reduces = kind == CollectiveKind_all_reduce ||
                             kind == CollectiveKind_reduce_scatter;
        for (Reduction reduction : reductionsOf(element))
          for (const Operand &operand : operandsOf(kind, group.size()))
            for (bool inPlace : {false, true}) {
              if ((inPlace && kind != CollectiveKind_all_reduce) ||
                  (!reduces && reduction != reductionsOf(element)[0]))
                continue;
              Case test;
              test.kind = kind;
              test.reduction = reduction;
              test.element = element;
              test.operands = {operand};
              test.inPlace = inPlace;
              test.ranks = group;
              for (uint32_t m = 0; m < group.size(); ++m)
                test.receivers.push_back(uint32_t((m + 1) % group.size()));
              cases.push_back(std::move(test));
            }
      }
    // A bucket: of one type, along several dimensions.
    Case bucket;
    bucket.kind = CollectiveKind_all_gather;
    bucket.operands = {{{3, 5}, 1}, {{7}, 0}, {{0, 2}, 0}, {{2, 3, 4}, 2}};
    bucket.ranks = group;
    cases.push_back(bucket);
    bucket.kind = CollectiveKind_all_reduce;
    bucket.inPlace = true;
    cases.push_back(bucket);
  }
  for (uint64_t size : {0, 1, 7, 100'003})
    for (uint32_t source = 0; source + 1 < worldSize; ++source)
      for (bool isBack : {false, true}) {
        Case test;
        test.isTransfer = true;
        test.element = ElementType_i1;
        test.operands = {{{size}}};
        test.ranks = isBack ? std::vector<uint32_t>{worldSize - 1, source}
                            : std::vector<uint32_t>{source, worldSize - 1};
        cases.push_back(std::move(test));
      }
  return cases;
}

std::vector<Case> conformance::largeCases(uint32_t worldSize) {
  using namespace ppx;
  std::vector<Case> cases;
  Case test;
  test.ranks = groupsOf(worldSize)[0];
  const uint64_t n = worldSize;
  test.rounds = 2;
  test.operands = {{{uint64_t(16) << 20}}};
  test.inPlace = true;
  cases.push_back(test);
  test.inPlace = false;
  test.kind = CollectiveKind_all_gather;
  test.operands = {{{1024, (16 << 10) / n}, 1}};
  cases.push_back(test);
  test.kind = CollectiveKind_reduce_scatter;
  test.operands = {{{n * 1024, (16 << 10) / n}, 0}};
  cases.push_back(test);
  test.kind = CollectiveKind_all_to_all;
  test.operands = {{{n * 1024, (16 << 10) / n}, 1, 0}};
  cases.push_back(test);
  test.kind = CollectiveKind_all_reduce;
  test.element = ElementType_bf16;
  test.operands = {{{uint64_t(32) << 20}}};
  cases.push_back(test);
  test.kind = CollectiveKind_permute;
  test.element = ElementType_f64;
  test.operands = {{{uint64_t(8) << 20}}};
  for (uint32_t m = 0; m < n; ++m)
    test.receivers.push_back(uint32_t((m + 1) % n));
  cases.push_back(test);
  if (n == 1)
    return cases;
  test.isTransfer = true;
  test.element = ElementType_i1;
  test.operands = {{{(uint64_t(64) << 20) + 1}}};
  test.ranks = {0, worldSize - 1};
  cases.push_back(test);
  return cases;
}
