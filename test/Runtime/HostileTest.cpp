//===- HostileTest.cpp - what small files may cost ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Artifacts with very many of one thing, or of two that could be multiplied.
// Whether they are refused or not, they are read and checked in memory of 64
// MiB more than the file, in steps that are linear in it; and if any allocation
// fails, reading them reports it.
//
//===----------------------------------------------------------------------===//
#include "Pipelines.h"
#include "pprt/Artifact.h"
#include "pprt/Checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <malloc.h>
#include <new>

using namespace pprt;
using namespace pprt::test;

//===----------------------------------------------------------------------===//
// The heap, counted
//===----------------------------------------------------------------------===//

static int64_t live, peak;          // bytes; one thread
static int64_t allowed = INT64_MAX; // allocations before memory runs out

void *operator new(size_t bytes) {
  void *memory = allowed > 0 ? std::malloc(bytes) : nullptr;
  if (!memory)
    throw std::bad_alloc();
  --allowed;
  live += int64_t(malloc_usable_size(memory));
  peak = std::max(peak, live);
  return memory;
}

void operator delete(void *memory) noexcept {
  live -= int64_t(malloc_usable_size(memory));
  std::free(memory);
}

void operator delete(void *memory, size_t) noexcept { operator delete(memory); }

//===----------------------------------------------------------------------===//
// Artifacts of very many things
//===----------------------------------------------------------------------===//

namespace {

struct Many {
  const char *name;
  uint32_t count;
  std::function<ppx::ArtifactT(uint32_t count)> make;
};

void PrintTo(const Many &many, std::ostream *stream) { *stream << many.name; }

class Hostile : public testing::TestWithParam<Many> {};

std::string nameOf(const testing::TestParamInfo<Many> &info) {
  return info.param.name;
}

/// Many queues, each with one access to its own memory, or to a common one.
ppx::ArtifactT manyQueues(uint32_t count, bool areOrdered) {
  ArtifactBuilder artifact;
  ProgramBuilder program = artifact.program({0});
  program.automaticWaits = false;
  const uint32_t shared = program.slot("", 1);
  program.begin(Section::body);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t queue = program.queue("");
    const uint32_t slot = areOrdered ? shared : program.slot("", 1);
    ppx::InstructionT &run = program.run(queue, {}, {slot});
    if (areOrdered && i > 0)
      run.waits.push_back(ppx::Wait(i - 1, 1));
  }
  program.step(0);
  return artifact.take();
}

/// In the last queue every instruction waits for every earlier one.
ppx::ArtifactT manyWaits(uint32_t count) {
  ArtifactBuilder artifact;
  ProgramBuilder program = artifact.program({0});
  program.automaticWaits = false;
  const uint32_t first = program.queue(""), second = program.queue("");
  const uint32_t slot = program.slot("", 1);
  program.begin(Section::body);
  ppx::InstructionT &run = program.run(second, {}, {slot});
  for (uint32_t i = 0; i < count; ++i)
    run.waits.push_back(ppx::Wait(first, i + 1));
  for (uint32_t i = 0; i < count; ++i)
    program.run(first, {}, {program.slot("", 1)});
  program.step(first);
  return artifact.take();
}

std::vector<uint32_t> numbersBelow(uint32_t count) {
  std::vector<uint32_t> numbers(count);
  for (uint32_t i = 0; i < count; ++i)
    numbers[i] = i;
  return numbers;
}

/// A program for each of many stages; the first exchanges with all others.
ppx::ArtifactT manyStages(uint32_t count) {
  ArtifactBuilder artifact;
  artifact.axis("pp", count, ppx::AxisKind_stage);
  for (uint32_t stage = 0; stage < count; ++stage) {
    ProgramBuilder program = artifact.program({stage}, stage);
    const uint32_t main = program.queue("");
    program.begin(Section::body);
    if (stage > 0)
      program.recv(main, 0, program.slot("", 1));
    const uint32_t sent = program.slot("", 1);
    program.run(main, {}, {sent});
    for (uint32_t to = 1; stage == 0 && to < count; ++to)
      program.send(main, to, sent);
    program.step(main);
  }
  return artifact.take();
}

/// One program of `ranks` ranks, each a member of all groups. With `stages`,
/// ranks are stages, and groups have a list of them.
ppx::ArtifactT manyGroups(uint32_t count, uint32_t ranks, bool alone) {
  ArtifactBuilder artifact;
  const uint32_t axis = artifact.axis("dp", ranks);
  for (uint32_t i = 0; i < count; ++i)
    if (alone)
      artifact.group({});
    else
      artifact.group({axis});
  ProgramBuilder program = artifact.program(numbersBelow(ranks));
  program.automaticWaits = false;
  const uint32_t main = program.queue("");
  const uint32_t slot = program.slot("", 1);
  program.begin(Section::setup);
  program.run(main, {}, {slot});
  program.begin(Section::body);
  for (uint32_t i = 0; i < count; ++i)
    program.collective(main, ppx::CollectiveKind_all_reduce, i, {slot}, {slot});
  program.step(main);
  return artifact.take();
}

/// Groups that list stages, in one program of all of them.
ppx::ArtifactT manyStagesOfGroups(uint32_t count, uint32_t stages) {
  ArtifactBuilder artifact;
  const uint32_t axis = artifact.axis("pp", stages, ppx::AxisKind_stage);
  for (uint32_t i = 0; i < count; ++i)
    artifact.group({axis}, numbersBelow(stages));
  ProgramBuilder program = artifact.program(numbersBelow(stages));
  const uint32_t main = program.queue("");
  const uint32_t slot = program.slot("", 1);
  program.begin(Section::body);
  program.run(main, {}, {slot});
  for (uint32_t i = 0; i < count; ++i)
    for (int again = 0; again < 4; ++again)
      program.collective(main, ppx::CollectiveKind_all_reduce, i, {slot},
                         {slot});
  program.step(main);
  return artifact.take();
}

/// Ranks of a grid, whose rows and columns meet; classes separate ranks of one
/// program one by one, because the other program is at a corner.
ppx::ArtifactT grid(uint32_t size, uint32_t instructions, bool agree) {
  ArtifactBuilder artifact;
  const uint32_t x = artifact.axis("x", size), y = artifact.axis("y", size);
  artifact.group({x});
  artifact.group({y});
  std::vector<uint32_t> upper, lower;
  for (uint32_t row = 0; row < size; ++row)
    for (uint32_t column = 0; column < size; ++column)
      (column < row ? lower : upper).push_back(row * size + column);
  for (const auto &ranks : {upper, lower}) {
    ProgramBuilder program = artifact.program(ranks);
    program.automaticWaits = false;
    const uint32_t main = program.queue("");
    const uint32_t slot = program.slot("", 1);
    program.begin(Section::body);
    program.run(main, {}, {slot});
    for (uint32_t i = 0; i < instructions; ++i)
      program.collective(main, ppx::CollectiveKind_all_reduce, i % 2, {slot},
                         {slot});
    if (!agree && ranks == lower)
      program.collective(main, ppx::CollectiveKind_all_reduce, 0, {slot},
                         {slot});
    program.step(main);
  }
  return artifact.take();
}

/// One program of many stages, all of which emit many outputs and hold many
/// parameters.
ppx::ArtifactT manyTensors(uint32_t count, uint32_t stages) {
  ArtifactBuilder artifact;
  artifact.axis("pp", stages, ppx::AxisKind_stage);
  ProgramBuilder program = artifact.program(numbersBelow(stages));
  program.automaticWaits = false;
  const uint32_t main = program.queue("");
  program.begin(Section::body);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t slot = program.slot("", 16);
    artifact.hold(artifact.argument("", ppx::Role_param, 16), slot);
    const uint32_t output = artifact.output("", 16);
    artifact.emits(output, stages - 1);
    program.emit(main, output, slot);
  }
  program.step(main);
  return artifact.take();
}

ppx::ArtifactT manyAxes(uint32_t count) {
  ArtifactBuilder artifact;
  std::vector<uint32_t> axes;
  for (uint32_t i = 0; i < count; ++i)
    axes.push_back(artifact.axis("", 1));
  for (uint32_t i = 0; i < count / 64; ++i)
    artifact.group(axes);
  ProgramBuilder program = artifact.program({0});
  const uint32_t main = program.queue("");
  program.begin(Section::body);
  program.step(main);
  return artifact.take();
}

/// Slots within a slot, all of which are written, read apart and read whole.
ppx::ArtifactT manySlots(uint32_t count) {
  ArtifactBuilder artifact;
  ProgramBuilder program = artifact.program({0});
  const uint32_t main = program.queue(""), other = program.queue("");
  const uint32_t whole = program.slot("", 16 * count),
                 result = program.slot("", 1);
  program.automaticWaits = false;
  program.begin(Section::body);
  for (uint32_t i = 0; i < count; ++i)
    program.run(main, {}, {program.slotAt(64 * i, "", 16)});
  for (uint32_t i = 0; i < count; ++i)
    program.run(i % 2 ? other : main, {whole}, {result});
  program.step(main);
  return artifact.take();
}

} // namespace

static CheckResult readAndCheck(const std::vector<uint8_t> &file) {
  Expected<ppx::ArtifactT> artifact =
      parseArtifact(file.data(), file.size(), "file");
  if (artifact)
    return checkArtifact(*artifact);
  CheckResult refused;
  refused.findings.push_back(
      {FindingKind::structure, artifact.status().message(), {}, {}});
  return refused;
}

TEST_P(Hostile, IsCheap) {
  const Many &many = GetParam();
  const auto fileOf = [&](uint32_t count) {
    return packArtifact(many.make(count));
  };
  const std::vector<uint8_t> file = fileOf(many.count);
  EXPECT_LT(file.size(), size_t(600) << 10);
  const int64_t before = peak = live;
  const clock_t begin = clock();
  const CheckResult result = readAndCheck(file);
  std::printf("%zu KiB, %.1f MiB more, %.2f s: %.150s\n", file.size() >> 10,
              double(peak - before) / (1 << 20),
              double(clock() - begin) / CLOCKS_PER_SEC,
              result.status().message().c_str());
  EXPECT_LE(peak - before, int64_t(file.size()) + (64 << 20));
  EXPECT_LE(double(clock() - begin) / CLOCKS_PER_SEC, 5);
}

INSTANTIATE_TEST_SUITE_P(
    All, Hostile,
    testing::Values(
        Many{"Queues", 3000, [](uint32_t n) { return manyQueues(n, false); }},
        Many{"FewerQueues", 1000,
             [](uint32_t n) { return manyQueues(n, false); }},
        Many{"QueuesInOrder", 1000,
             [](uint32_t n) { return manyQueues(n, true); }},
        Many{"Waits", 2500, manyWaits}, Many{"Stages", 1500, manyStages},
        Many{"GroupsOfAll", 1000,
             [](uint32_t n) { return manyGroups(n, 1000, false); }},
        Many{"GroupsOfOne", 1000,
             [](uint32_t n) { return manyGroups(n, 1000, true); }},
        Many{"GroupsOfManyRanks", 1000,
             [](uint32_t n) { return manyGroups(n, 50000, false); }},
        Many{"StagesOfGroups", 200,
             [](uint32_t n) { return manyStagesOfGroups(n, 500); }},
        Many{"GridOfRanks", 100, [](uint32_t n) { return grid(n, 2, true); }},
        Many{"GridOfInstructions", 60,
             [](uint32_t n) { return grid(n, 1000, true); }},
        Many{"GridThatDisagrees", 60,
             [](uint32_t n) { return grid(n, 1000, false); }},
        Many{"Tensors", 700, [](uint32_t n) { return manyTensors(n, 30000); }},
        Many{"Axes", 2000, manyAxes}, Many{"Slots", 1500, manySlots}),
    nameOf);

// Every allocation in turn fails.
TEST(Memory, ThatLacksIsSaid) {
  PipelineShape shape;
  shape.replicas = 2;
  shape.clip = true;
  const std::vector<uint8_t> file = packArtifact(makePipeline(shape));
  // Objects that are made once and kept are made here.
  ASSERT_TRUE(readAndCheck(file).ok());
  int64_t refused = 0;
  for (bool isRead = false; !isRead; ++refused) {
    const int64_t before = live;
    {
      allowed = refused;
      CheckResult result;
      Expected<ppx::ArtifactT> artifact =
          parseArtifact(file.data(), file.size(), "file");
      if (artifact)
        result = checkArtifact(*artifact);
      allowed = INT64_MAX;
      isRead = artifact.ok() && result.ok();
      const Status status = artifact ? result.status() : artifact.status();
      if (!isRead)
        ASSERT_EQ(status.code(), ExitCode::outOfMemory) << status.message();
    }
    ASSERT_EQ(live, before) << refused;
  }
  EXPECT_GT(refused, 100);
}
