//===- MovesTest.cpp - comm ops of ranks that share a GPU -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every case of the table that all transports are held to, as moves on a played
// GPU: what a member must have follows from the definition of the collective.
//
//===----------------------------------------------------------------------===//
#include "../Runtime/WaitingStream.h"
#include "ConformanceCases.h"
#include "backends/cuda/Plugin.h"
#include "collectives/inprocess/Reduce.h"
#include "pprt/Program.h"
#include "pprt/World.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace pprt;
using namespace pprt::test;
using conformance::Case;

namespace {

class Moves : public testing::Test {
protected:
  void SetUp() override {
    auto opened = cuda::openDevices(*thisProcess(), 1);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    device = std::move(opened->front());
    auto allocated = device->allocate(1 << 20);
    ASSERT_TRUE(allocated.ok()) << allocated.status().message();
    memory = std::move(*allocated);
    auto made = WaitingStream::make(*device, *memory, heap);
    ASSERT_TRUE(made.ok()) << made.status().message();
    stream = std::move(*made);
  }

  std::byte *place(uint64_t bytes) {
    std::byte *result = memory->address() + end;
    end = (end + bytes + 63) / 64 * 64;
    EXPECT_LE(end, memory->size());
    return result;
  }
  void write(std::byte *to, const std::vector<std::byte> &bytes) {
    EXPECT_TRUE(stream->write(to, bytes.data(), bytes.size()).ok());
  }
  std::vector<std::byte> read(const std::byte *from, uint64_t bytes) {
    std::vector<std::byte> result(bytes);
    EXPECT_TRUE(
        memory->read(result.data(), uint64_t(from - memory->address()), bytes)
            .ok());
    return result;
  }
  void run(const enqueued::BoundMove &move) {
    auto launch = device->bindMove(move);
    ASSERT_TRUE(launch.ok()) << launch.status().message();
    const Status status = stream->launch(**launch);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  void check(const Case &test) {
    end = 0;
    std::vector<std::vector<std::byte *>> inputs(test.memberCount()),
        outputs(test.memberCount());
    for (uint32_t member = 0; member < test.memberCount(); ++member)
      for (size_t operand = 0; operand < test.operands.size(); ++operand) {
        const uint64_t in = test.inputBytes(member, operand);
        const uint64_t out = test.outputBytes(member, operand);
        std::byte *input = place(in);
        inputs[member].push_back(input);
        outputs[member].push_back(test.inPlace && out == in ? input
                                                            : place(out));
        if (in == 0) // a transfer's target
          continue;
        std::vector<std::byte> values(in);
        test.fillInput(/*round=*/0, member, operand, values.data());
        write(input, values);
      }
    for (const Move &move : test.moves()) {
      const uint64_t width = elementSize(move.element);
      enqueued::BoundMove bound = {
          move.region, move.element, move.reduction, {}, {}};
      for (const Part &part : move.sources)
        bound.sources.push_back(inputs[part.member][part.operand] +
                                part.offset * width);
      for (const Part &part : move.targets)
        bound.targets.push_back(outputs[part.member][part.operand] +
                                part.offset * width);
      ASSERT_NO_FATAL_FAILURE(run(bound));
    }
    for (uint32_t member = 0; member < test.memberCount(); ++member)
      for (size_t operand = 0; operand < test.operands.size(); ++operand) {
        const uint64_t bytes = test.outputBytes(member, operand);
        if (bytes == 0)
          continue;
        const auto got = read(outputs[member][operand], bytes);
        EXPECT_EQ(test.findFault(/*round=*/0, member, operand, got.data()), "");
      }
  }

  std::unique_ptr<enqueued::StreamDevice> device;
  std::unique_ptr<Memory> memory;
  AllocationCounter heap;
  std::unique_ptr<Stream> stream;
  uint64_t end = 0;
};

TEST_F(Moves, LeaveWhatTheCollectiveSays) {
  for (uint32_t world : {2, 3})
    for (const Case &test : conformance::smallCases(world)) {
      SCOPED_TRACE(test.name());
      ASSERT_NO_FATAL_FAILURE(check(test));
    }
}

/// To the bit, but any NaN is like another: a GPU keeps none of its bits in a
/// sum.
bool areEqual(ppx::ElementType element, const std::vector<std::byte> &a,
              const std::vector<std::byte> &b) {
  const uint64_t width = elementSize(element);
  const auto isNan = [&](const std::byte *at) {
    uint64_t bits = 0;
    std::memcpy(&bits, at, width);
    switch (element) {
    case ppx::ElementType_f32:
      return (bits & 0x7fffffff) > 0x7f800000;
    case ppx::ElementType_f64:
      return (bits & ~(uint64_t(1) << 63)) > 0x7ff0000000000000;
    case ppx::ElementType_bf16:
      return (bits & 0x7fff) > 0x7f80;
    case ppx::ElementType_f16:
      return (bits & 0x7fff) > 0x7c00;
    default:
      return false;
    }
  };
  for (size_t i = 0; i < a.size(); i += width)
    if (std::memcmp(&a[i], &b[i], width) != 0 &&
        !(isNan(&a[i]) && isNan(&b[i])))
      return false;
  return true;
}

/// Of bits of all kinds, infinite ones and NaNs among them.
TEST_F(Moves, ReduceToTheBitsOfTheProcessor) {
  constexpr uint64_t kCount = 300;
  constexpr uint32_t kSources = 3;
  std::mt19937_64 random(1);
  for (ppx::ElementType element : ppx::EnumValuesElementType())
    for (ppx::Reduction reduction : ppx::EnumValuesReduction()) {
      const bool isBits =
          reduction == ppx::Reduction_and_ || reduction == ppx::Reduction_or_;
      if (isBits && isFloat(element))
        continue;
      SCOPED_TRACE(std::string(ppx::EnumNameElementType(element)) + ' ' +
                   ppx::EnumNameReduction(reduction));
      const uint64_t bytes = kCount * elementSize(element);
      end = 0;
      enqueued::BoundMove move = {{}, element, reduction, {}, {}};
      move.region.run = kCount;
      std::vector<std::vector<std::byte>> sources;
      for (uint32_t s = 0; s < kSources; ++s) {
        std::vector<std::byte> values(bytes);
        for (std::byte &byte : values)
          // Exponents of all ones now and then.
          byte = random() % 4 ? std::byte(random()) : std::byte(0xff);
        sources.push_back(values);
        std::byte *at = place(bytes);
        write(at, values);
        move.sources.push_back(at);
      }
      move.targets = {place(bytes), place(bytes)};
      ASSERT_NO_FATAL_FAILURE(run(move));
      std::vector<std::byte> expected(bytes);
      const std::byte *from[kSources];
      for (uint32_t s = 0; s < kSources; ++s)
        from[s] = sources[s].data();
      std::byte *to[] = {expected.data()};
      inprocess::reduce(element, reduction, from, kSources, 0, to, 1, 0,
                        kCount);
      for (const std::byte *target : move.targets)
        EXPECT_TRUE(areEqual(element, read(target, bytes), expected));
    }
}

} // namespace
