//===- CommOpsTest.cpp - moves do what the reference executor does --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every move is executed plainly, element by element, over the arenas of all
// members, and compared with the reference executor's result of the same comm
// op: for every kind, dimension, shape and element type of collectives, and for
// every comm op of random pipelines, whose partners the reference finds as they
// arrive.
//
//===----------------------------------------------------------------------===//
#include "pprt/CommOps.h"
#include "Pipelines.h"
#include "pprt/ElementFormats.h"
#include "reference/CommOps.h"
#include "reference/Data.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <set>

using namespace pprt;
using namespace pprt::test;
using reference::Bytes;
using Shape = std::vector<uint64_t>;

namespace {

/// By member, then by operand.
struct Memory {
  std::vector<std::vector<Bytes>> inputs, outputs;
};

template <typename T> T combine(ppx::Reduction reduction, T a, T b) {
  switch (reduction) {
  case ppx::Reduction_max:
    return a > b ? a : b;
  case ppx::Reduction_min:
    return a < b ? a : b;
  default:
    return T(a + b);
  }
}

template <typename T>
void reduceElement(const Move &move, const std::vector<const uint8_t *> &from,
                   uint8_t *to) {
  T result;
  std::memcpy(&result, from[0], sizeof(T));
  for (size_t i = 1; i < from.size(); ++i) {
    T value;
    std::memcpy(&value, from[i], sizeof(T));
    result = combine(move.reduction, result, value);
  }
  std::memcpy(to, &result, sizeof(T));
}

template <typename Format>
void reduceNarrow(const Move &move, const std::vector<const uint8_t *> &from,
                  uint8_t *to) {
  float result = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, from[i], sizeof(bits));
    const float value = Format::load(bits);
    result = i == 0 ? value : combine(move.reduction, result, value);
  }
  const uint16_t rounded = Format::store(result);
  std::memcpy(to, &rounded, sizeof(rounded));
}

/// Executes a move one element at a time. Checks members' bounds.
void run(const Move &move, const Memory &before, Memory &memory) {
  const Region &region = move.region;
  const uint64_t width = elementSize(move.element);
  for (uint64_t o = 0; o < region.outer; ++o)
    for (uint64_t m = 0; m < region.middle; ++m)
      for (uint64_t e = 0; e < region.run; ++e) {
        std::vector<const uint8_t *> from;
        for (const Part &part : move.sources)
          from.push_back(&before.inputs.at(part.member)
                              .at(part.operand)
                              .at((part.offset + o * region.sourceOuter +
                                   m * region.sourceMiddle + e) *
                                  width));
        Bytes value(width);
        if (from.size() == 1)
          value.assign(from[0], from[0] + width);
        else if (move.element == ppx::ElementType_f32)
          reduceElement<float>(move, from, value.data());
        else if (move.element == ppx::ElementType_bf16)
          reduceNarrow<BFloat16Format>(move, from, value.data());
        else if (move.element == ppx::ElementType_f16)
          reduceNarrow<Float16Format>(move, from, value.data());
        else if (move.element == ppx::ElementType_i32)
          reduceElement<int32_t>(move, from, value.data());
        else
          FAIL() << ppx::EnumNameElementType(move.element);
        for (const Part &part : move.targets)
          std::copy(value.begin(), value.end(),
                    &memory.outputs.at(part.member)
                         .at(part.operand)
                         .at((part.offset + o * region.targetOuter +
                              m * region.targetMiddle + e) *
                             width));
      }
}

void run(const std::vector<Move> &moves, Memory &memory) {
  const Memory before = memory;
  for (const Move &move : moves)
    run(move, before, memory);
}

uint64_t count(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), uint64_t(1),
                         std::multiplies<uint64_t>());
}

/// Small values, so that no sum is infinite or depends on padding bits.
Bytes randomTensor(ppx::ElementType element, uint64_t elements,
                   std::mt19937_64 &random) {
  Bytes result(elements * elementSize(element));
  for (uint64_t i = 0; i < elements; ++i) {
    const int32_t value = int32_t(random() % 2001) - 1000;
    const float real = float(value) / 7;
    const uint16_t rounded =
        element == ppx::ElementType_bf16 ? toBFloat16(real) : toFloat16(real);
    uint8_t *to = result.data() + i * elementSize(element);
    if (element == ppx::ElementType_f32)
      std::memcpy(to, &real, sizeof(real));
    else if (isNarrowFloat(element))
      std::memcpy(to, &rounded, sizeof(rounded));
    else
      std::memcpy(to, &value, sizeof(value));
  }
  return result;
}

/// Two operands, the second of another shape, as in a bucket.
void compareCollective(ppx::InstructionT &instruction, uint32_t members,
                       ppx::ElementType element, const Shape &shape,
                       std::mt19937_64 &random) {
  ppx::SlotT first, second;
  first.element = second.element = element;
  first.shape = shape;
  second.shape = shape;
  second.shape.back() *= 2;
  if (!instruction.dimensions.empty())
    instruction.dimensions.resize(2, instruction.dimensions[0]);
  if (!instruction.split_dimensions.empty())
    instruction.split_dimensions.resize(2, instruction.split_dimensions[0]);
  const std::vector<const ppx::SlotT *> slots = {&first, &second};
  std::vector<uint32_t> receivers(members);
  std::iota(receivers.begin(), receivers.end(), 0);
  std::shuffle(receivers.begin(), receivers.end(), random);
  Memory memory;
  memory.inputs.resize(members);
  memory.outputs.resize(members);
  std::vector<std::vector<Bytes>> expected;
  for (size_t operand = 0; operand < slots.size(); ++operand) {
    std::vector<Bytes> inputs;
    for (uint32_t m = 0; m < members; ++m) {
      memory.inputs[m].push_back(
          randomTensor(element, count(slots[operand]->shape), random));
      inputs.push_back(memory.inputs[m].back());
    }
    expected.push_back(
        reference::runCollective(instruction, operand, *slots[operand], inputs,
                                 {receivers.begin(), receivers.end()}));
    for (uint32_t m = 0; m < members; ++m)
      memory.outputs[m].emplace_back(expected.back()[m].size(), 0xA5);
  }
  run(movesOfCollective(instruction, slots, members, receivers), memory);
  for (size_t operand = 0; operand < slots.size(); ++operand)
    for (uint32_t m = 0; m < members; ++m)
      ASSERT_EQ(memory.outputs[m][operand], expected[operand][m])
          << ppx::EnumNameCollectiveKind(instruction.collective) << " of "
          << members << ", member " << m << ", operand " << operand;
}

} // namespace

TEST(CommOps, MovesOfEveryCollectiveAreTheReference) {
  std::mt19937_64 random(1);
  for (uint32_t members = 1; members <= 4; ++members)
    for (ppx::ElementType element :
         {ppx::ElementType_f32, ppx::ElementType_bf16, ppx::ElementType_f16,
          ppx::ElementType_i32})
      for (const Shape &shape : {Shape{12}, Shape{12, 24}, Shape{24, 12, 12},
                                 Shape{12, 0}, Shape{12, 2, 12}})
        for (int kind = ppx::CollectiveKind_MIN;
             kind <= ppx::CollectiveKind_MAX; ++kind)
          for (uint32_t dimension = 0; dimension < shape.size(); ++dimension)
            for (uint32_t split = 0; split < shape.size(); ++split) {
              ppx::InstructionT instruction;
              instruction.collective = ppx::CollectiveKind(kind);
              instruction.reduction =
                  std::array{ppx::Reduction_sum, ppx::Reduction_max,
                             ppx::Reduction_min}[random() % 3];
              const bool splits =
                  instruction.collective == ppx::CollectiveKind_all_to_all;
              if ((!splits && split != 0) ||
                  (splits && shape[split] % members != 0) ||
                  (instruction.collective ==
                       ppx::CollectiveKind_reduce_scatter &&
                   shape[dimension] % members != 0))
                continue;
              instruction.dimensions = {dimension};
              if (splits)
                instruction.split_dimensions = {split};
              compareCollective(instruction, members, element, shape, random);
            }
}

/// Lets the instructions of a section arrive queue by queue, as the reference
/// does, and returns which instructions met, in any order.
static std::set<std::vector<std::pair<uint32_t, uint32_t>>>
meetByArriving(const Ranks &ranks, Section section) {
  reference::CommOps judge(ranks.artifact, ranks.mesh);
  std::set<std::vector<std::pair<uint32_t, uint32_t>>> result;
  // By rank and queue: instructions that wait, and the next ones.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> waiting, next;
  for (bool progress = true; progress;) {
    progress = false;
    for (uint32_t rank = 0; rank < ranks.mesh.worldSize(); ++rank) {
      const InstructionList &list = ranks.instructions(rank, section);
      for (uint32_t queue = 0; queue < ranks.program(rank).queues.size();
           ++queue) {
        uint32_t &index = next[{rank, queue}];
        if (waiting.count({rank, queue}))
          continue;
        for (; index < list.size(); ++index) {
          const ppx::InstructionT &instruction = *list[index];
          if (instruction.queue == queue &&
              (instruction.opcode == ppx::Opcode_send ||
               instruction.opcode == ppx::Opcode_recv ||
               instruction.opcode == ppx::Opcode_collective))
            break;
        }
        if (index == list.size())
          continue;
        progress = true;
        waiting[{rank, queue}] = index;
        std::vector<std::pair<uint32_t, uint32_t>> commOp;
        for (const reference::QueueRef &member :
             judge.arrive({rank, queue}, *list[index++])) {
          commOp.push_back(
              {member.rank, waiting.at({member.rank, member.queue})});
          waiting.erase({member.rank, member.queue});
        }
        if (!commOp.empty())
          result.insert(commOp);
      }
    }
  }
  EXPECT_TRUE(waiting.empty());
  return result;
}

/// Runs the moves of one comm op over random inputs.
static void compareCommOp(const Ranks &ranks, const CommOps &commOps,
                          Section section, const CommPlace &place, uint32_t k,
                          std::mt19937_64 &random) {
  const std::vector<uint32_t> members = commOps.members(place);
  const uint32_t index = commOps.sequence(place, 0, members[0])[k];
  const ppx::ProgramT &program = ranks.program(members[0]);
  const ppx::InstructionT &instruction =
      *ranks.instructions(members[0], section)[index];
  std::vector<size_t> receivers;
  if (instruction.collective == ppx::CollectiveKind_permute)
    for (uint32_t rank : ranks.mesh.members(
             *ranks.artifact.groups[instruction.target_group], members[0]))
      receivers.push_back(size_t(
          std::find(members.begin(), members.end(), rank) - members.begin()));
  Memory memory, expected;
  memory.inputs.resize(members.size());
  memory.outputs.resize(members.size());
  expected.outputs.resize(members.size());
  const size_t operands = std::max<size_t>(1, instruction.arguments.size() / 2);
  for (size_t operand = 0; operand < operands; ++operand) {
    const ppx::SlotT &slot = *program.slots[instruction.arguments[operand]];
    std::vector<Bytes> inputs;
    for (std::vector<Bytes> &member : memory.inputs)
      inputs.push_back(member.emplace_back(
          randomTensor(slot.element, count(slot.shape), random)));
    const std::vector<Bytes> outputs =
        place.isGroup ? reference::runCollective(instruction, operand, slot,
                                                 inputs, receivers)
                      : std::vector<Bytes>{{}, inputs[0]};
    for (size_t m = 0; m < members.size(); ++m) {
      expected.outputs[m].push_back(outputs[m]);
      memory.outputs[m].emplace_back(outputs[m].size(), 0xA5);
    }
  }
  run(commOps.moves(place, k), memory);
  EXPECT_EQ(memory.outputs, expected.outputs);
}

TEST(CommOps, OfRandomPipelinesAreWhomTheReferenceLetsMeet) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    PipelineShape shape = randomShape(random);
    shape.queues = QueueStyle::perEdge;
    const ppx::ArtifactT artifact = makePipeline(shape);
    const Expected<Mesh> mesh = Mesh::create(artifact.axes);
    const Ranks ranks(artifact, *mesh);
    std::set<uint64_t> numbers;
    for (Section section : kSections) {
      const CommOps commOps(ranks, section);
      std::set<std::vector<std::pair<uint32_t, uint32_t>>> found;
      for (const CommPlace &place : commOps.places({0, mesh->worldSize()})) {
        const std::vector<uint32_t> members = commOps.members(place);
        const size_t length = commOps.sequence(place, 0, members[0]).size();
        if (section == Section::body)
          EXPECT_TRUE(numbers.insert(commOps.number(place)).second);
        for (size_t k = 0; k < length; ++k) {
          std::vector<std::pair<uint32_t, uint32_t>> commOp;
          for (uint32_t m = 0; m < members.size(); ++m)
            commOp.push_back(
                {members[m], commOps.sequence(place, m, members[m]).at(k)});
          found.insert(commOp);
          compareCommOp(ranks, commOps, section, place, uint32_t(k), random);
        }
      }
      EXPECT_EQ(found, meetByArriving(ranks, section));
      // Half of the ranks know all of their own places, and no others.
      const uint32_t half = mesh->worldSize() / 2;
      std::set<CommPlace> both;
      for (auto [begin, end] :
           {std::pair(0u, half), std::pair(half, mesh->worldSize())})
        for (const CommPlace &place : commOps.places({begin, end})) {
          both.insert(place);
          const std::vector<uint32_t> members = commOps.members(place);
          EXPECT_TRUE(std::any_of(members.begin(), members.end(),
                                  [b = begin, e = end](uint32_t rank) {
                                    return rank >= b && rank < e;
                                  }));
        }
      const auto all = commOps.places({0, mesh->worldSize()});
      EXPECT_EQ(both, std::set<CommPlace>(all.begin(), all.end()));
    }
  }
}

TEST(CommOps, OfATransferCopyAllBytes) {
  Memory memory = {{{{1, 2, 3, 4, 5}}, {}}, {{}, {Bytes(5)}}};
  run(movesOfTransfer(5), memory);
  EXPECT_EQ(memory.outputs[1][0], memory.inputs[0][0]);
}
