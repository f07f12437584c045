//===- DeviceTest.cpp - properties of devices that engines need -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Streams, launches and the rows of scalars, without an executor. Tests that
// need kernels of the host, or values, are skipped for devices other than
// "cpu", which --device selects.
//
//===----------------------------------------------------------------------===//
#include "ProgramBuilder.h"
#include "WaitingStream.h"

#include "engine/Devices.h"
#include "engine/ScalarRows.h"
#include "pprt/World.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>

using namespace pprt;
using namespace pprt::test;

namespace {

/// Set by main().
std::string deviceName = "cpu";

/// Scalars of the kernel launches, in order, if the device records them.
std::vector<std::vector<int64_t>> launched;
bool isAsked = false;

void *resolveRecorder(const std::string &) {
  isAsked = true;
  return reinterpret_cast<void *>(
      +[](void *const *, const int64_t *scalars, int64_t, int64_t) {
        launched.emplace_back(scalars, scalars + 4);
      });
}

class DeviceTest : public testing::Test {
protected:
  void SetUp() override {
    launched.clear();
    isAsked = false;
    devices = *findBackend(deviceName)
                   ->open({resolveRecorder}, *thisProcess(),
                          /*worldSize=*/1);
    device = &devices->device(0);
    auto memory = device->allocate(4096);
    ASSERT_TRUE(memory.ok()) << memory.status().message();
    arena = std::move(*memory);
    auto created = WaitingStream::make(*device, *arena, heap);
    ASSERT_TRUE(created.ok());
    stream = std::move(*created);
  }

  std::shared_ptr<Devices> devices;
  Device *device = nullptr;
  std::unique_ptr<Memory> arena;
  AllocationCounter heap;
  std::unique_ptr<Stream> stream;
};

#define SKIP_WITHOUT_VALUES()                                                  \
  if (!arena->keepsValues())                                                   \
  GTEST_SKIP() << deviceName << " has no values for the host"
#define SKIP_WITHOUT_RECORDER()                                                \
  if (!isAsked)                                                                \
  GTEST_SKIP() << deviceName << " has kernels of its own"

/// Two coordinates, and launches for some micro-batches and for none.
struct Launches {
  Launches() {
    ProgramBuilder program = builder.program({0});
    const uint32_t queue = program.queue("compute");
    const uint32_t slot = program.slot("x", 4);
    program.begin(Section::body);
    for (int32_t microBatch : {3, -1, 0, 3}) {
      program.set({ppx::Phase_forward, microBatch});
      program.run(queue, {}, {slot});
    }
    program.step(queue);
    artifact = builder.take();
  }
  ArtifactBuilder builder;
  ppx::ArtifactT artifact;
};

TEST_F(DeviceTest, MemoryIsAlignedAndApart) {
  std::vector<std::unique_ptr<Memory>> blocks;
  for (uint64_t bytes :
       {uint64_t(0), uint64_t(1), uint64_t(65), uint64_t(5000)}) {
    auto block = device->allocate(bytes);
    ASSERT_TRUE(block.ok()) << block.status().message();
    blocks.push_back(std::move(*block));
    EXPECT_GE(blocks.back()->size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks.back()->address()) % 64, 0u);
  }
  for (const auto &block : blocks)
    for (const auto &other : blocks)
      if (block != other && block->size() && other->size())
        EXPECT_TRUE(block->address() + block->size() <= other->address() ||
                    other->address() + other->size() <= block->address());
  const auto pool = device->pool();
  ASSERT_TRUE(pool.ok()) << pool.status().message();
  EXPECT_GE(pool->capacity, 5000u);
}

TEST_F(DeviceTest, ALaunchOfAnyStepIsGivenTheSameRow) {
  const Launches its;
  ScalarRows rows({5, 7}, *its.artifact.programs[0]);
  ASSERT_TRUE(rows.allocate(*device).ok());
  std::vector<std::byte> host(rows.bytes());
  auto kernel = device->prepare(*its.artifact.kernels[0]);
  SKIP_WITHOUT_RECORDER();
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  // Bound once, before any step.
  std::vector<std::unique_ptr<const Launch>> launches;
  for (int32_t microBatch : {-1, 0, 3})
    launches.push_back(device->bind(
        {kernel->get(), {arena->address()}, rows.row(microBatch)}));
  for (int64_t step : {11, 12}) {
    ASSERT_TRUE(rows.setStep(*stream, step, host.data()).ok());
    for (const auto &launch : launches)
      ASSERT_TRUE(stream->launch(*launch).ok());
  }
  EXPECT_EQ(launched, (std::vector<std::vector<int64_t>>{{5, 7, -1, 11},
                                                         {5, 7, 0, 11},
                                                         {5, 7, 3, 11},
                                                         {5, 7, -1, 12},
                                                         {5, 7, 0, 12},
                                                         {5, 7, 3, 12}}));
  // No two rows share a cache line.
  EXPECT_EQ(std::abs(rows.row(0) - rows.row(3)) % 64, 0);
}

TEST_F(DeviceTest, AGateIsReadWhenItsKernelWouldRun) {
  const Launches its;
  ScalarRows rows({5, 7}, *its.artifact.programs[0]);
  ASSERT_TRUE(rows.allocate(*device).ok());
  std::vector<std::byte> host(rows.bytes());
  auto kernel = device->prepare(*its.artifact.kernels[0]);
  SKIP_WITHOUT_RECORDER();
  ASSERT_TRUE(kernel.ok());
  std::byte *gate = arena->address() + 64;
  const auto launch =
      device->bind({kernel->get(), {arena->address()}, rows.row(-1), gate});
  ASSERT_TRUE(rows.setStep(*stream, 0, host.data()).ok());
  for (int32_t flag : {1, 0, -5}) {
    ASSERT_TRUE(stream->write(gate, &flag, sizeof(flag)).ok());
    ASSERT_TRUE(stream->launch(*launch).ok());
  }
  EXPECT_EQ(launched.size(), 1u);
}

TEST_F(DeviceTest, AFlagTellsWhetherAllValuesAreFinite) {
  SKIP_WITHOUT_VALUES();
  std::byte *at = arena->address(), *flag = at + 1024;
  const auto flagOf = [&](const std::vector<Values> &values) {
    EXPECT_TRUE(stream->flag(values, flag).ok());
    int32_t result = 2;
    EXPECT_TRUE(
        arena
            ->read(reinterpret_cast<std::byte *>(&result), 1024, sizeof(result))
            .ok());
    return result;
  };
  const double inf = std::numeric_limits<double>::infinity();
  for (double odd : {inf, -inf, std::nan("")}) {
    float narrow[3] = {1, 2, 3};
    double wide[2] = {std::numeric_limits<double>::max(), 1};
    uint16_t brain[2] = {0x3f80, 0x7f7f}, half[2] = {0x7bff, 0x3c00};
    const auto values = [&] {
      EXPECT_TRUE(stream->write(at, narrow, sizeof(narrow)).ok());
      EXPECT_TRUE(stream->write(at + 64, wide, sizeof(wide)).ok());
      EXPECT_TRUE(stream->write(at + 128, brain, sizeof(brain)).ok());
      EXPECT_TRUE(stream->write(at + 192, half, sizeof(half)).ok());
      return flagOf({{at, sizeof(narrow), ppx::ElementType_f32},
                     {at + 64, sizeof(wide), ppx::ElementType_f64},
                     {at + 128, sizeof(brain), ppx::ElementType_bf16},
                     {at + 192, sizeof(half), ppx::ElementType_f16}});
    };
    EXPECT_EQ(values(), 0);
    narrow[2] = float(odd);
    EXPECT_EQ(values(), 1);
    narrow[2] = 0, wide[0] = odd;
    EXPECT_EQ(values(), 1);
    wide[0] = 0, brain[1] = uint16_t(std::isnan(odd) ? 0x7fc0 : 0x7f80);
    EXPECT_EQ(values(), 1);
    brain[1] = 0, half[0] = uint16_t(std::isnan(odd) ? 0xfe00 : 0xfc00);
    EXPECT_EQ(values(), 1);
  }
  EXPECT_EQ(flagOf({}), 0);
}

TEST_F(DeviceTest, CopiesAndMeasuresWhatWasWritten) {
  SKIP_WITHOUT_VALUES();
  EXPECT_EQ(arena->writtenBytes(), 0u);
  const uint64_t value = 42;
  ASSERT_TRUE(stream->write(arena->address(), &value, sizeof(value)).ok());
  const bool measures = arena->writtenBytes() > 0;
  EXPECT_EQ(arena->writtenBytes(), measures ? 64u : 0u);
  ASSERT_TRUE(
      stream->copy(arena->address() + 640, arena->address(), sizeof(value))
          .ok());
  EXPECT_EQ(arena->writtenBytes(), measures ? 704u : 0u);
  uint64_t copied = 0;
  ASSERT_TRUE(
      arena->read(reinterpret_cast<std::byte *>(&copied), 640, sizeof(copied))
          .ok());
  EXPECT_EQ(copied, value);
  const uint64_t other = 43;
  ASSERT_TRUE(arena
                  ->write(640, reinterpret_cast<const std::byte *>(&other),
                          sizeof(other))
                  .ok());
  ASSERT_TRUE(
      arena->read(reinterpret_cast<std::byte *>(&copied), 640, sizeof(copied))
          .ok());
  EXPECT_EQ(copied, other);
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.compare(0, 9, "--device=") != 0) {
      std::cerr << "expects --device=NAME, got '" << argument << "'\n";
      return 2;
    }
    deviceName = argument.substr(9);
  }
  Status opened = checkDeviceName(deviceName);
  if (opened.ok())
    opened = findBackend(deviceName)->open({}, *thisProcess(), 1).status();
  if (!opened.ok()) {
    std::cerr << opened.message() << "\n";
    return int(opened.code());
  }
  return RUN_ALL_TESTS();
}
