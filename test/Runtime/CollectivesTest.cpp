//===- CollectivesTest.cpp - the pieces that make up a collective ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Results of members, in any order of an exchange's pieces; a few results
// written out by hand, which the table of ConformanceTest computes; and the
// rounding that this table assumes.
//
//===----------------------------------------------------------------------===//
#include "ConformanceCases.h"
#include "collectives/inprocess/Exchange.h"

#include "pprt/ElementFormats.h"
#include "pprt/Program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

using namespace pprt;
using inprocess::Exchange;
using inprocess::MemberBuffers;

namespace {

using Shape = std::vector<uint64_t>;

uint64_t count(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), uint64_t(1),
                         std::multiplies<uint64_t>());
}

/// A group whose members each hold one operand.
class Group {
public:
  Group(uint32_t members, const Shape &in, const Shape &out,
        ppx::ElementType element)
      : width(elementSize(element)), memory(2 * members),
        participants(members) {
    input.shape = in;
    output.shape = out;
    input.element = output.element = element;
    input.bytes = count(in) * width;
    output.bytes = count(out) * width;
    for (uint32_t m = 0; m < members; ++m) {
      memory[2 * m].resize(input.bytes);
      memory[2 * m + 1].resize(output.bytes);
      participants[m].inputs = {memory[2 * m].data()};
      participants[m].outputs = {memory[2 * m + 1].data()};
    }
    inputs = {&input};
  }

  /// Adds the operand of `other` as this group's next.
  void append(const Group &other) {
    for (size_t m = 0; m < participants.size(); ++m) {
      const MemberBuffers &more = other.participants[m];
      participants[m].inputs.push_back(more.inputs[0]);
      participants[m].outputs.push_back(more.outputs[0]);
    }
    inputs.push_back(other.inputs[0]);
  }

  template <typename T> T *in(uint32_t member) {
    return reinterpret_cast<T *>(participants[member].inputs[0]);
  }
  template <typename T> T *out(uint32_t member) {
    return reinterpret_cast<T *>(participants[member].outputs[0]);
  }

  void run(const ppx::InstructionT &instruction) {
    const Exchange exchange(movesOfCollective(instruction, inputs,
                                              uint32_t(participants.size()),
                                              {}),
                            participants);
    for (uint32_t piece = 0; piece < exchange.pieceCount(); ++piece)
      exchange.run(piece);
  }

private:
  uint64_t width;
  ppx::SlotT input, output;
  std::vector<std::vector<std::byte>> memory;
  std::vector<MemberBuffers> participants;
  std::vector<const ppx::SlotT *> inputs;
};

ppx::InstructionT instruction(ppx::CollectiveKind kind, uint32_t dimension = 0,
                              uint32_t split = 0) {
  ppx::InstructionT result;
  result.collective = kind;
  result.dimensions = {dimension};
  result.split_dimensions = {split};
  return result;
}

/// A value that identifies its member and its place.
int32_t mark(uint32_t member, uint64_t index) {
  return int32_t(member * 1'000'000 + index);
}

void markInputs(Group &group, uint32_t members, const Shape &in) {
  for (uint32_t m = 0; m < members; ++m)
    for (uint64_t i = 0; i < count(in); ++i)
      group.in<int32_t>(m)[i] = mark(m, i);
}

TEST(Collectives, PiecesRunInAnyOrder) {
  std::vector<conformance::Case> cases = conformance::smallCases(4);
  // More than one piece, and no multiple of a block.
  conformance::Case pieces;
  pieces.operands = {{{70'001}}};
  pieces.ranks = {0, 1, 2};
  for (bool inPlace : {false, true}) {
    pieces.inPlace = inPlace;
    cases.push_back(pieces);
  }
  for (const conformance::Case &test : cases)
    for (uint64_t seed : {1, 2}) {
      std::vector<MemberBuffers> participants(test.memberCount());
      std::vector<std::vector<std::byte>> memory;
      for (uint32_t member = 0; member < test.memberCount(); ++member)
        for (size_t i = 0; i < test.operands.size(); ++i) {
          memory.emplace_back(test.inputBytes(member, i));
          participants[member].inputs.push_back(memory.back().data());
          if (!memory.back().empty())
            test.fillInput(0, member, i, memory.back().data());
          if (!test.inPlace)
            memory.emplace_back(test.outputBytes(member, i));
          participants[member].outputs.push_back(memory.back().data());
        }
      const Exchange exchange(test.moves(), participants);
      std::vector<uint32_t> order(exchange.pieceCount());
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
      for (uint32_t piece : order)
        exchange.run(piece);
      for (uint32_t member = 0; member < test.memberCount(); ++member)
        for (size_t i = 0; i < test.operands.size(); ++i)
          if (test.outputBytes(member, i) > 0)
            EXPECT_EQ(
                test.findFault(0, member, i, participants[member].outputs[i]),
                "");
    }
}

// A bucket consists of its tensors' own calls: here with one more dimension.
TEST(Collectives, EachTensorOfABucketHasItsDimension) {
  const Shape shape = {2, 2};
  Group rows(2, shape, {4, 2}, ppx::ElementType_i32);
  Group columns(2, shape, {2, 4}, ppx::ElementType_i32);
  markInputs(rows, 2, shape);
  markInputs(columns, 2, shape);
  rows.append(columns);
  ppx::InstructionT gather = instruction(ppx::CollectiveKind_all_gather, 0);
  gather.dimensions.push_back(1);
  rows.run(gather);
  const int32_t b = mark(1, 0);
  for (uint32_t m = 0; m < 2; ++m) {
    EXPECT_EQ(
        std::vector<int32_t>(rows.out<int32_t>(m), rows.out<int32_t>(m) + 8),
        (std::vector<int32_t>{0, 1, 2, 3, b, b + 1, b + 2, b + 3}));
    EXPECT_EQ(std::vector<int32_t>(columns.out<int32_t>(m),
                                   columns.out<int32_t>(m) + 8),
              (std::vector<int32_t>{0, 1, b, b + 1, 2, 3, b + 2, b + 3}));
  }
}

TEST(BFloat16, IsTheNearestAndOfTwoTheEvenOne) {
  const auto rounded = [](float value) {
    return fromBFloat16(toBFloat16(value));
  };
  // From 256 to 512 in steps of two.
  for (const auto &[value, nearest] : {std::pair(256.0f, 256.0f),
                                       {257, 256},
                                       {257.25, 258},
                                       {258.75, 258},
                                       {259, 260},
                                       {511, 512}})
    for (float sign : {1.0f, -1.0f})
      EXPECT_EQ(rounded(sign * value), sign * nearest) << value;
  EXPECT_EQ(toBFloat16(-0.0f), 0x8000);
  EXPECT_EQ(rounded(0x1.fep127f), 0x1.fep127f); // the largest
  EXPECT_EQ(rounded(0x1.fefffep127f), 0x1.fep127f);
  EXPECT_EQ(rounded(0x1.ffp127f), INFINITY);
  EXPECT_EQ(rounded(-INFINITY), -INFINITY);
  // NaNs whose payload is cut off, and NaNs that rounding would carry away.
  for (uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xffffffffu, 0xff80ffffu}) {
    float nan;
    std::memcpy(&nan, &bits, sizeof(nan));
    EXPECT_TRUE(std::isnan(rounded(nan))) << std::hex << bits;
  }
}

/// All numbers of f16, and what lies between two of them.
TEST(Float16, IsTheNearestAndOfTwoTheEvenOne) {
  const auto valueOf = [](uint32_t bits) {
    const int exponent = int(bits >> 10);
    return exponent == 0 ? std::ldexp(float(bits), -24)
                         : std::ldexp(float(bits % 1024 + 1024), exponent - 25);
  };
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const float value = valueOf(bits), next = valueOf(bits + 1),
                middle = (value + next) / 2;
    for (const auto &[x, nearest] :
         {std::pair(value, bits),
          {std::nextafter(middle, 0.0f), bits},
          {middle, bits + bits % 2},
          {std::nextafter(middle, next), bits + 1}}) {
      ASSERT_EQ(toFloat16(x), nearest) << x;
      ASSERT_EQ(toFloat16(-x), nearest | 0x8000) << x;
    }
    ASSERT_EQ(fromFloat16(uint16_t(bits)), value);
    ASSERT_EQ(fromFloat16(uint16_t(bits | 0x8000)), -value);
  }
  EXPECT_TRUE(std::signbit(fromFloat16(0x8000)));
  for (float large : {65520.0f, 65536.0f, 1e30f, INFINITY})
    EXPECT_EQ(toFloat16(-large), 0xfc00) << large;
  EXPECT_EQ(fromFloat16(0x7c00), INFINITY);
  EXPECT_EQ(toFloat16(0x1p-25f), 0);
  EXPECT_EQ(toFloat16(1e-40f), 0);
  for (uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xffffffffu, 0xff80ffffu})
    EXPECT_TRUE(std::isnan(fromFloat16(toFloat16(floatOfBits(bits)))));
}

TEST(Collectives, NarrowFloatsAreSummedInSingleAndRoundedOnce) {
  // 256 + 1 + 1: rounding after every addition would lose both ones.
  const auto check = [](ppx::ElementType element, auto format, float large) {
    using Format = decltype(format);
    Group group(3, {1}, {1}, element);
    const float values[] = {large, 1, 1};
    for (uint32_t m = 0; m < 3; ++m)
      group.in<uint16_t>(m)[0] = Format::store(values[m]);
    group.run(instruction(ppx::CollectiveKind_all_reduce));
    for (uint32_t m = 0; m < 3; ++m)
      EXPECT_EQ(Format::load(group.out<uint16_t>(m)[0]), large + 2);
  };
  check(ppx::ElementType_bf16, BFloat16Format(), 256);
  check(ppx::ElementType_f16, Float16Format(), 2048);
}

template <typename T>
void expectReduction(ppx::ElementType element, ppx::Reduction reduction,
                     std::vector<T> values, T expected) {
  Group group(uint32_t(values.size()), {1}, {1}, element);
  for (uint32_t m = 0; m < values.size(); ++m)
    group.in<T>(m)[0] = values[m];
  ppx::InstructionT reduce = instruction(ppx::CollectiveKind_all_reduce);
  reduce.reduction = reduction;
  group.run(reduce);
  EXPECT_EQ(group.out<T>(0)[0], expected)
      << ppx::EnumNameElementType(element) << " "
      << ppx::EnumNameReduction(reduction);
}

TEST(Collectives, ReducesEveryType) {
  using namespace ppx;
  expectReduction<float>(ElementType_f32, Reduction_max, {-3, 2, 1}, 2);
  expectReduction<double>(ElementType_f64, Reduction_min, {-3, 2, 1}, -3);
  expectReduction<int32_t>(ElementType_i32, Reduction_sum, {INT32_MAX, 1},
                           INT32_MIN);
  expectReduction<int32_t>(ElementType_i32, Reduction_max, {-3, -2}, -2);
  expectReduction<int64_t>(ElementType_i64, Reduction_min, {-3, -2}, -3);
  expectReduction<uint8_t>(ElementType_i1, Reduction_and_, {1, 1, 0}, 0);
  expectReduction<uint8_t>(ElementType_i1, Reduction_or_, {0, 1, 0}, 1);
}

TEST(Collectives, ANaNOfAnyMemberIsTheMaximum) {
  for (uint32_t where = 0; where < 3; ++where) {
    Group group(3, {1}, {1}, ppx::ElementType_f32);
    for (uint32_t m = 0; m < 3; ++m)
      group.in<float>(m)[0] = m == where ? NAN : float(m);
    ppx::InstructionT reduce = instruction(ppx::CollectiveKind_all_reduce);
    reduce.reduction = ppx::Reduction_max;
    group.run(reduce);
    EXPECT_TRUE(std::isnan(group.out<float>(0)[0])) << where;
  }
}

} // namespace
