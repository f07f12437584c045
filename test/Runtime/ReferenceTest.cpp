//===- ReferenceTest.cpp - the judge, judged by hand ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The reference executor judges programs and checks; these tests judge it, part
// by part.
//
//===----------------------------------------------------------------------===//
#include "ProgramBuilder.h"
#include "pprt/Checks.h"
#include "reference/Data.h"
#include "reference/Executor.h"
#include "reference/RaceDetector.h"
#include "reference/WriterShadow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace pprt;
using namespace pprt::reference;
using namespace pprt::test;

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace {

template <typename T> Bytes bytesOf(const std::vector<T> &values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T> std::vector<T> valuesOf(const Bytes &bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Runs a collective on int32 tensors of `shape`, one per member.
std::vector<std::vector<int32_t>>
run(const ppx::InstructionT &instruction, std::vector<uint64_t> shape,
    const std::vector<std::vector<int32_t>> &inputs,
    const std::vector<size_t> &receivers = {}) {
  ppx::SlotT slot;
  slot.element = ppx::ElementType_i32;
  slot.shape = std::move(shape);
  std::vector<Bytes> bytes;
  for (const auto &input : inputs)
    bytes.push_back(bytesOf(input));
  std::vector<std::vector<int32_t>> results;
  for (const Bytes &output :
       runCollective(instruction, 0, slot, bytes, receivers))
    results.push_back(valuesOf<int32_t>(output));
  return results;
}

using Tensors = std::vector<std::vector<int32_t>>;

ppx::InstructionT collective(ppx::CollectiveKind kind, uint32_t dimension = 0,
                             uint32_t splitDimension = 0) {
  ppx::InstructionT instruction;
  instruction.opcode = ppx::Opcode_collective;
  instruction.collective = kind;
  instruction.dimensions = {dimension};
  instruction.split_dimensions = {splitDimension};
  return instruction;
}

} // namespace

TEST(Collective, AllReduce) {
  ppx::InstructionT sum = collective(ppx::CollectiveKind_all_reduce);
  EXPECT_EQ(run(sum, {2}, {{1, 2}, {3, -4}, {5, 6}}),
            (Tensors{{9, 4}, {9, 4}, {9, 4}}));
  sum.reduction = ppx::Reduction_max;
  EXPECT_EQ(run(sum, {2}, {{1, 2}, {3, -4}}), (Tensors{{3, 2}, {3, 2}}));
  sum.reduction = ppx::Reduction_min;
  EXPECT_EQ(run(sum, {2}, {{1, 2}, {3, -4}}), (Tensors{{1, -4}, {1, -4}}));
  sum.reduction = ppx::Reduction_and_;
  EXPECT_EQ(run(sum, {1}, {{6}, {3}}), (Tensors{{2}, {2}}));
  sum.reduction = ppx::Reduction_or_;
  EXPECT_EQ(run(sum, {1}, {{6}, {3}}), (Tensors{{7}, {7}}));
}

TEST(Collective, GatherAndScatterAlongAnInnerDimension) {
  EXPECT_EQ(run(collective(ppx::CollectiveKind_all_gather, 1), {2, 1},
                {{1, 3}, {2, 4}}),
            (Tensors{{1, 2, 3, 4}, {1, 2, 3, 4}}));
  EXPECT_EQ(run(collective(ppx::CollectiveKind_reduce_scatter, 1), {2, 2},
                {{1, 2, 3, 4}, {10, 20, 30, 40}}),
            (Tensors{{11, 33}, {22, 44}}));
}

TEST(Collective, AllToAllSplitsOneDimensionAndJoinsAnother) {
  // Rows are split among the members, columns joined.
  EXPECT_EQ(run(collective(ppx::CollectiveKind_all_to_all, 1, 0), {2, 2},
                {{1, 2, 3, 4}, {5, 6, 7, 8}}),
            (Tensors{{1, 2, 5, 6}, {3, 4, 7, 8}}));
}

TEST(Collective, PermuteSendsToTheNamedMember) {
  EXPECT_EQ(run(collective(ppx::CollectiveKind_permute), {1},
                {{10}, {20}, {30}}, /*receivers=*/{1, 2, 0}),
            (Tensors{{30}, {10}, {20}}));
}

TEST(Collective, LowPrecisionIsRoundedOnce) {
  // 256 + 1 is a tie in bf16, and 256 + 1 + 1 is not: rounding after each
  // addition would give 256.
  auto bf16 = [](float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return uint16_t(bits >> 16);
  };
  ppx::SlotT slot;
  slot.element = ppx::ElementType_bf16;
  slot.shape = {1};
  std::vector<Bytes> inputs;
  for (float value : {256.0f, 1.0f, 1.0f})
    inputs.push_back(bytesOf<uint16_t>({bf16(value)}));
  const std::vector<Bytes> outputs = runCollective(
      collective(ppx::CollectiveKind_all_reduce), 0, slot, inputs);
  EXPECT_EQ(valuesOf<uint16_t>(outputs[2]).front(), bf16(258.0f));
  // 2048, 1 and 1 are that of f16.
  slot.element = ppx::ElementType_f16;
  inputs.clear();
  for (uint16_t half : {0x6800, 0x3c00, 0x3c00})
    inputs.push_back(bytesOf<uint16_t>({half}));
  EXPECT_EQ(valuesOf<uint16_t>(
                runCollective(collective(ppx::CollectiveKind_all_reduce), 0,
                              slot, inputs)[2])
                .front(),
            0x6801);
}

TEST(Collective, ANaNOfAnyMemberIsTheMaximum) {
  const float values[] = {1, NAN};
  ppx::SlotT slot;
  slot.element = ppx::ElementType_f32;
  slot.shape = {1};
  ppx::InstructionT extreme = collective(ppx::CollectiveKind_all_reduce);
  for (ppx::Reduction reduction : {ppx::Reduction_max, ppx::Reduction_min})
    for (size_t first : {0, 1}) {
      extreme.reduction = reduction;
      std::vector<Bytes> inputs(2, Bytes(4));
      std::memcpy(inputs[0].data(), &values[first], 4);
      std::memcpy(inputs[1].data(), &values[1 - first], 4);
      float result;
      std::memcpy(&result, runCollective(extreme, 0, slot, inputs)[0].data(),
                  4);
      EXPECT_TRUE(std::isnan(result));
    }
}

TEST(Collective, FiniteMeansNeitherInfinityNorNaN) {
  for (auto [value, finite] : {std::pair<float, bool>{1.0f, true},
                               {INFINITY, false},
                               {-INFINITY, false},
                               {NAN, false}}) {
    const Bytes bytes = bytesOf<float>({0.0f, value});
    EXPECT_EQ(isFinite(ppx::ElementType_f32, bytes.data(), bytes.size()),
              finite);
  }
}

//===----------------------------------------------------------------------===//
// Race detector
//===----------------------------------------------------------------------===//

namespace {
ppx::SlotT slotAt(uint64_t offset, uint64_t bytes) {
  ppx::SlotT slot;
  slot.offset = offset;
  slot.bytes = bytes;
  return slot;
}
} // namespace

TEST(Detector, KnowsWhatWaitsTell) {
  RaceDetector detector(8, 3);
  const ppx::SlotT x = slotAt(0, 4), half = slotAt(2, 4);
  detector.start(0, {});
  EXPECT_EQ(detector.write(0, x), "");
  detector.complete(0);
  detector.start(1, {});
  EXPECT_EQ(detector.read(1, x), "reads byte 3 while queue 0 writes it");
  detector.complete(1);
  detector.start(2, {ppx::Wait(0, 1)});
  EXPECT_EQ(detector.read(2, x), "");
  EXPECT_EQ(detector.write(2, x), "writes byte 3 while queue 1 reads it");
  detector.complete(2);
  detector.startSection();
  detector.start(1, {});
  EXPECT_EQ(detector.write(1, half), "");
}

TEST(Shadow, KnowsThroughWhichSlotEachByteWasWritten) {
  ArtifactBuilder artifact;
  ProgramBuilder program = artifact.program({0});
  const uint32_t whole = program.slot("whole", 32);
  const uint32_t other = program.slotAt(64, "other", 1);
  const ppx::ArtifactT none;
  WriterShadow shadow(none, program.get());
  EXPECT_EQ(shadow.read(whole, nullptr), "reads byte 0, never written");
  shadow.write(whole, nullptr);
  EXPECT_EQ(shadow.read(whole, nullptr), "");
  EXPECT_EQ(shadow.read(other, nullptr),
            "reads byte 64 of 'other', last written through 'whole'");
  shadow.write(other, nullptr);
  EXPECT_EQ(shadow.read(whole, nullptr),
            "reads byte 64 of 'whole', last written through 'other'");
}

//===----------------------------------------------------------------------===//
// Executor
//===----------------------------------------------------------------------===//

// Two ranks add their steps' values: every instruction that moves data.
TEST(Executor, MovesData) {
  ArtifactBuilder artifact;
  const uint32_t pp = artifact.axis("pp", 2, ppx::AxisKind_stage);
  const uint32_t group = artifact.group({pp});
  const uint32_t input = artifact.argument("input", ppx::Role_input, 2);
  const uint32_t output = artifact.output("output", 2);
  for (uint32_t stage : {0, 1}) {
    ProgramBuilder program = artifact.program({stage}, stage);
    const uint32_t main = program.queue("main"), edge = program.queue("edge");
    const uint32_t x = program.slot("x", 2), y = program.slot("y", 2);
    const uint32_t flag = program.slot("flag", 1);
    program.get().slots[flag]->element = ppx::ElementType_i32;
    program.begin(Section::body);
    program.load(main, input, x);
    if (stage == 0)
      program.send(edge, 1, x);
    else
      program.recv(edge, 0, y);
    program.copy(main, stage == 0 ? x : y, stage == 0 ? y : x);
    program.collective(main, ppx::CollectiveKind_all_reduce, group, {x}, {y});
    program.flag(main, {x}, flag);
    program.gate(main, {x}, {y}, flag);
    program.emit(main, output, y);
    program.step(main);
  }
  const ppx::ArtifactT made = artifact.take();

  Options options;
  options.steps = 3;
  options.load = [](const LoadCall &call) {
    // Step 2 is not finite: the flag detects it and the gate is closed.
    const float value = call.step == 2 ? INFINITY : float(call.step + 1);
    const float values[] = {value, 10 * value};
    if (call.rank == 0)
      std::memcpy(call.bytes, values, call.size);
    else
      std::memset(call.bytes, 0, call.size);
  };
  options.runKernel = [](const KernelCall &call) {
    // Scalars: the coordinate on each axis, micro-batch, step.
    const float values[] = {float(call.scalars[0]), float(call.scalars[2])};
    std::memcpy(call.arguments[1], values, sizeof(values));
  };
  for (options.seed = 0; options.seed < 20; ++options.seed) {
    const Result result = execute(made, options);
    ASSERT_EQ(result.end, End::finished) << result.reason;
    EXPECT_TRUE(result.races.empty());
    auto emitted = [&](uint32_t rank, int64_t step) {
      return valuesOf<float>(result.emitted.at({rank, output, step, -1}));
    };
    // The gated kernel overwrote the sum with (stage, step).
    EXPECT_EQ(emitted(0, 1), (std::vector<float>{0, 1}));
    EXPECT_EQ(emitted(1, 1), (std::vector<float>{1, 1}));
    // Where the kernel was skipped, the sum of both ranks is left.
    EXPECT_EQ(emitted(1, 2), (std::vector<float>{INFINITY, INFINITY}));
  }
}

// The reference is no kinder than engines: a result over an operand is wrong,
// even if these plain loops would compute it correctly.
TEST(Executor, SeesWhatAnInstructionOverwritesOfItsOwn) {
  using Fill = std::function<void(ProgramBuilder &, uint32_t main, uint32_t x,
                                  uint32_t y, uint32_t group)>;
  const auto collective = [](ppx::CollectiveKind kind,
                             std::vector<uint32_t> outputs) -> Fill {
    return [=](ProgramBuilder &program, uint32_t main, uint32_t x, uint32_t y,
               uint32_t group) {
      std::vector<uint32_t> slots;
      for (uint32_t output : outputs)
        slots.push_back(output == 0 ? x : y);
      program.collective(main, kind, group, {x, y}, slots).target_group = group;
    };
  };
  const std::pair<Fill, bool> cases[] = {
      {collective(ppx::CollectiveKind_all_reduce, {0, 1}), true},
      {collective(ppx::CollectiveKind_all_reduce, {1, 0}), false},
      {collective(ppx::CollectiveKind_permute, {0, 1}), false},
      {[](ProgramBuilder &p, uint32_t main, uint32_t x, uint32_t, uint32_t) {
         p.copy(main, x, x);
       },
       false},
      {[](ProgramBuilder &p, uint32_t main, uint32_t x, uint32_t, uint32_t) {
         p.run(main, {x}, {x});
       },
       false},
      {[](ProgramBuilder &p, uint32_t main, uint32_t x, uint32_t y, uint32_t) {
         p.run(main, {y}, {}, {x});
       },
       true}};
  for (const auto &[fill, isDefined] : cases) {
    ArtifactBuilder artifact;
    const uint32_t group = artifact.group({artifact.axis("dp", 1)});
    ProgramBuilder program = artifact.program({0});
    const uint32_t main = program.queue("main");
    const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
    program.begin(Section::body);
    program.run(main, {}, {x});
    program.run(main, {}, {y});
    fill(program, main, x, y, group);
    program.step(main);
    const ppx::ArtifactT made = artifact.take();
    EXPECT_EQ(execute(made, {}).clobbers.empty(), isDefined);
    EXPECT_EQ(checkArtifact(made).ok(), isDefined);
  }
}

TEST(Executor, NamesWhoWaitsForWhom) {
  ArtifactBuilder artifact;
  artifact.axis("pp", 2, ppx::AxisKind_stage);
  for (uint32_t stage : {0, 1}) {
    ProgramBuilder program = artifact.program({stage}, stage);
    program.automaticWaits = false;
    const uint32_t main = program.queue("main"), edge = program.queue("edge");
    const uint32_t x = program.slot("x", 2);
    program.begin(Section::body);
    if (stage == 0)
      program.send(edge, 1, x);
    else
      program.run(main, {}, {x}).waits = {ppx::Wait(main, 1)};
    program.step(main);
  }
  const Result result = execute(artifact.take(), {});
  EXPECT_EQ(result.end, End::stalled);
  EXPECT_EQ(result.reason,
            "rank 0, body, queue 'main' #0 '0U step'\n"
            "rank 0, body, queue 'edge' #0 '0P send' waits for rank 1\n"
            "rank 1, body, queue 'main' #0 '1P run' waits for queue 'main' to "
            "complete 1, got 0\n");
}
