//===- CollectivesTest.cpp - every collective against its definition ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The conformance of the in-process collectives: what each member ends with,
// for groups of one to four, over element types, whatever the order in which
// the pieces of work run.
//
//===----------------------------------------------------------------------===//
#include "collectives/inprocess/Exchange.h"

#include "pprt/BFloat16.h"
#include "pprt/Program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

using namespace pprt;
using inprocess::Exchange;
using inprocess::Participant;

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

  void useInputsAsOutputs() {
    for (Participant &participant : participants)
      participant.outputs = participant.inputs;
  }

  /// Makes the operand of `other` this group's next.
  void append(const Group &other) {
    for (size_t m = 0; m < participants.size(); ++m) {
      const Participant &more = other.participants[m];
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

  /// Runs all pieces in an order drawn from `seed`.
  void run(const ppx::InstructionT &instruction, uint64_t seed = 0,
           const std::vector<uint32_t> &receivers = {}) {
    const Exchange exchange(movesOfCollective(instruction, inputs,
                                              uint32_t(participants.size()),
                                              receivers),
                            participants);
    std::vector<uint32_t> order(exchange.pieceCount());
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(seed);
    std::shuffle(order.begin(), order.end(), random);
    for (uint32_t piece : order)
      exchange.run(piece);
  }

private:
  uint64_t width;
  ppx::SlotT input, output;
  std::vector<std::vector<std::byte>> memory;
  std::vector<Participant> participants;
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

/// A value that names its member and its place.
int32_t mark(uint32_t member, uint64_t index) {
  return int32_t(member * 1'000'000 + index);
}

void markInputs(Group &group, uint32_t members, const Shape &in) {
  for (uint32_t m = 0; m < members; ++m)
    for (uint64_t i = 0; i < count(in); ++i)
      group.in<int32_t>(m)[i] = mark(m, i);
}

/// Calls f(index tuple) for every element of `shape`, in row-major order.
template <typename Function> void forEach(const Shape &shape, Function f) {
  Shape index(shape.size(), 0);
  for (uint64_t i = 0; i < count(shape); ++i) {
    f(index);
    for (size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];)
      index[d] = 0;
  }
}

uint64_t linear(const Shape &shape, const Shape &index) {
  uint64_t result = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    result = result * shape[d] + index[d];
  return result;
}

TEST(Collectives, AllGatherConcatenatesInMemberOrder) {
  for (uint32_t members = 1; members <= 4; ++members)
    for (uint32_t dimension = 0; dimension < 3; ++dimension) {
      const Shape in = {2, 3, 5};
      Shape out = in;
      out[dimension] *= members;
      Group group(members, in, out, ppx::ElementType_i32);
      markInputs(group, members, in);
      group.run(instruction(ppx::CollectiveKind_all_gather, dimension));
      for (uint32_t m = 0; m < members; ++m)
        forEach(out, [&](Shape index) {
          const int32_t got = group.out<int32_t>(m)[linear(out, index)];
          const uint32_t source = uint32_t(index[dimension] / in[dimension]);
          index[dimension] %= in[dimension];
          ASSERT_EQ(got, mark(source, linear(in, index)));
        });
    }
}

TEST(Collectives, AllToAllSplitsAndConcatenates) {
  for (uint32_t members = 1; members <= 4; ++members)
    for (uint32_t split = 0; split < 4; ++split)
      for (uint32_t concat = 0; concat < 4; ++concat) {
        const Shape in = {12, 12, 24, 12};
        Shape out = in;
        out[split] /= members;
        out[concat] *= members;
        Group group(members, in, out, ppx::ElementType_i32);
        markInputs(group, members, in);
        group.run(instruction(ppx::CollectiveKind_all_to_all, concat, split));
        Shape part = in;
        part[split] /= members;
        for (uint32_t m = 0; m < members; ++m)
          forEach(out, [&](Shape index) {
            const int32_t got = group.out<int32_t>(m)[linear(out, index)];
            const uint32_t source = uint32_t(index[concat] / part[concat]);
            index[concat] %= part[concat];
            index[split] += m * part[split];
            ASSERT_EQ(got, mark(source, linear(in, index)))
                << members << " members, split " << split << ", concatenated "
                << concat;
          });
      }
}

TEST(Collectives, PermuteSendsToTheNamedMember) {
  const std::vector<uint32_t> targets = {2, 0, 3, 1};
  Group group(4, {7}, {7}, ppx::ElementType_i32);
  markInputs(group, 4, {7});
  group.run(instruction(ppx::CollectiveKind_permute), /*seed=*/0, targets);
  for (uint32_t m = 0; m < 4; ++m)
    for (uint64_t i = 0; i < 7; ++i)
      EXPECT_EQ(group.out<int32_t>(targets[m])[i], mark(m, i));
}

/// Sums whose result depends on the order of the additions.
template <typename T>
std::vector<std::vector<T>> wildValues(uint32_t members, uint64_t size) {
  std::mt19937_64 random(members);
  std::vector<std::vector<T>> values(members, std::vector<T>(size));
  for (auto &row : values)
    for (T &value : row)
      value = T(std::ldexp(double(random() % 2000) - 1000, int(random() % 30)));
  return values;
}

TEST(Collectives, AllReduceAddsInMemberOrder) {
  // More than one piece, and no multiple of a block.
  constexpr uint64_t size = 70'001;
  for (uint32_t members = 1; members <= 4; ++members)
    for (bool inPlace : {false, true})
      for (uint64_t seed : {1, 2, 3}) {
        Group group(members, {size}, {size}, ppx::ElementType_f32);
        if (inPlace)
          group.useInputsAsOutputs();
        const auto values = wildValues<float>(members, size);
        for (uint32_t m = 0; m < members; ++m)
          std::copy(values[m].begin(), values[m].end(), group.in<float>(m));
        group.run(instruction(ppx::CollectiveKind_all_reduce), seed);
        for (uint64_t i = 0; i < size; ++i) {
          float sum = values[0][i];
          for (uint32_t m = 1; m < members; ++m)
            sum += values[m][i];
          for (uint32_t m = 0; m < members; ++m)
            ASSERT_EQ(group.out<float>(m)[i], sum);
        }
      }
}

TEST(Collectives, ReduceScatterLeavesEachMemberItsBlock) {
  for (uint32_t members = 1; members <= 4; ++members)
    for (uint32_t dimension = 0; dimension < 2; ++dimension) {
      Shape in = {12, 24}, out = in;
      out[dimension] /= members;
      Group group(members, in, out, ppx::ElementType_f64);
      const auto values = wildValues<double>(members, count(in));
      for (uint32_t m = 0; m < members; ++m)
        std::copy(values[m].begin(), values[m].end(), group.in<double>(m));
      group.run(instruction(ppx::CollectiveKind_reduce_scatter, dimension));
      for (uint32_t m = 0; m < members; ++m)
        forEach(out, [&](Shape index) {
          const double got = group.out<double>(m)[linear(out, index)];
          index[dimension] += m * out[dimension];
          double sum = values[0][linear(in, index)];
          for (uint32_t other = 1; other < members; ++other)
            sum += values[other][linear(in, index)];
          ASSERT_EQ(got, sum);
        });
    }
}

// A bucket is its tensors' own calls: here one more dimension each.
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

TEST(Collectives, BFloat16IsSummedInSingleAndRoundedOnce) {
  // 256 + 1 + 1: rounding after every addition would lose both ones.
  Group group(3, {1}, {1}, ppx::ElementType_bf16);
  const float values[] = {256, 1, 1};
  for (uint32_t m = 0; m < 3; ++m)
    group.in<uint16_t>(m)[0] = toBFloat16(values[m]);
  group.run(instruction(ppx::CollectiveKind_all_reduce));
  for (uint32_t m = 0; m < 3; ++m)
    EXPECT_EQ(fromBFloat16(group.out<uint16_t>(m)[0]), 258);
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

TEST(Collectives, TransferCopiesAllBytes) {
  std::vector<std::byte> from(100'003), to(100'003);
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = std::byte(i * 7);
  const Exchange exchange(movesOfTransfer(from.size()),
                          {{{from.data()}, {}}, {{}, {to.data()}}});
  for (uint32_t piece = exchange.pieceCount(); piece-- > 0;)
    exchange.run(piece);
  EXPECT_EQ(from, to);
}

TEST(Collectives, ATensorWithoutElementsMovesNothing) {
  Group group(2, {4, 0}, {2, 0}, ppx::ElementType_i32);
  group.run(instruction(ppx::CollectiveKind_all_to_all, 1, 0));
}

} // namespace
