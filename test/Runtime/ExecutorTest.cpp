//===- ExecutorTest.cpp - the cpu backend against the reference -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Whole programs, with more ranks than any test machine has cores: their final
// memory, their allocations, and the reports when they hang.
//
//===----------------------------------------------------------------------===//
#include "ExecutionModel.h"
#include "Pipelines.h"
#include "ProgramBuilder.h"
#include "ThreadExecutor.h"

#include "pprt/Checks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <thread>

using namespace pprt;
using namespace pprt::test;

namespace {

/// The current run.
const ppx::ArtifactT *current = nullptr;
const reference::Options *model = nullptr;

//===----------------------------------------------------------------------===//
// Both executors, with the same host
//===----------------------------------------------------------------------===//

/// Loads the model's values; keeps emitted ones.
class ModelHost final : public HostData {
public:
  Status load(uint32_t rank, const Instruction &instruction,
              std::byte *slot) override {
    model->load({rank, instruction->binding, step, instruction.microBatch(),
                 reinterpret_cast<uint8_t *>(slot), instruction.slot(0).bytes});
    return {};
  }
  void emit(uint32_t rank, const Instruction &instruction,
            const std::byte *slot) override {
    const auto *bytes = reinterpret_cast<const uint8_t *>(slot);
    std::lock_guard<std::mutex> lock(mutex);
    emitted[{rank, instruction->binding, step, instruction.microBatch()}] =
        std::vector<uint8_t>(bytes, bytes + instruction.slot(0).bytes);
  }

  int64_t step = -1; ///< counted as the reference does
  std::mutex mutex;
  std::map<reference::EmitKey, std::vector<uint8_t>> emitted;
};

struct Outcome {
  Status status;
  std::vector<std::vector<uint8_t>> slots; ///< rank by rank, slot by slot
  std::map<reference::EmitKey, std::vector<uint8_t>> emitted;
  uint64_t allocations = 0; ///< after the first step
};

std::vector<uint8_t> slotBytes(const ppx::ProgramT &program,
                               const uint8_t *arena) {
  std::vector<uint8_t> result;
  for (const auto &slot : program.slots)
    result.insert(result.end(), arena + slot->offset,
                  arena + slot->offset + slot->bytes);
  return result;
}

Outcome runThreads(std::shared_ptr<const ppx::ArtifactT> artifact,
                   uint32_t steps, KernelResolver resolver = resolveModelKernel,
                   double timeout = 60, unsigned threads = 1,
                   std::function<bool()> isInterrupted = {}) {
  Outcome outcome;
  Expected<Mesh> mesh = Mesh::create(artifact->axes);
  auto host = std::make_shared<ModelHost>();
  Expected<std::unique_ptr<polled::PolledExecutor>> created =
      makeThreadExecutor(artifact, {std::move(resolver), threads}, host,
                         {timeout, std::move(isInterrupted)});
  if (!created) {
    outcome.status = created.status();
    return outcome;
  }
  polled::PolledExecutor &executor = **created;
  // Both executors start from these bytes and the model's parameters.
  for (const auto &program : artifact->programs)
    for (uint32_t rank : program->ranks)
      std::memset(executor.rank(rank).arena->host(), 0xA5,
                  program->arena_bytes);
  for (uint32_t a = 0; a < artifact->arguments.size(); ++a)
    for (size_t p = 0; p < artifact->programs.size(); ++p) {
      const int32_t slot = artifact->programs[p]->argument_slots[a];
      if (slot < 0)
        continue;
      for (uint32_t rank : artifact->programs[p]->ranks) {
        const Status status = executor.rank(rank).writeSlot(
            uint32_t(slot), [&](std::byte *bytes) {
              model->load({rank, a, -1, -1, reinterpret_cast<uint8_t *>(bytes),
                           artifact->programs[p]->slots[size_t(slot)]->bytes});
            });
        EXPECT_TRUE(status.ok()) << status.message();
      }
    }
  outcome.status = executor.run(Section::setup, -1);
  const auto allocations = [&] {
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < mesh->worldSize(); ++rank)
      sum += executor.rank(rank).allocations.count;
    return sum;
  };
  uint64_t before = 0;
  for (uint32_t step = 0; step < steps && outcome.status.ok(); ++step) {
    host->step = step;
    outcome.status = executor.run(Section::body, step);
    if (step == 0)
      before = allocations();
  }
  outcome.allocations = allocations() - before;
  host->step = steps;
  if (outcome.status.ok())
    outcome.status = executor.run(Section::teardown, steps);
  if (executor.isStuck())
    return outcome;
  for (const auto &program : artifact->programs)
    for (uint32_t rank : program->ranks)
      outcome.slots.push_back(
          slotBytes(*program, reinterpret_cast<const uint8_t *>(
                                  executor.rank(rank).arena->host())));
  outcome.emitted = host->emitted;
  return outcome;
}

Outcome runReference(const ppx::ArtifactT &artifact, uint32_t steps) {
  reference::Options options = *model;
  options.steps = steps;
  const reference::Result result = reference::execute(artifact, options);
  Outcome outcome;
  EXPECT_EQ(result.end, reference::End::finished) << result.reason;
  for (const auto &program : artifact.programs)
    for (uint32_t rank : program->ranks)
      outcome.slots.push_back(slotBytes(*program, result.arenas[rank].data()));
  outcome.emitted = result.emitted;
  return outcome;
}

class ExecutorTest : public testing::Test {
protected:
  std::shared_ptr<const ppx::ArtifactT> use(ppx::ArtifactT artifact) {
    auto shared = std::make_shared<const ppx::ArtifactT>(std::move(artifact));
    current = shared.get();
    model = &options;
    useModelKernels(*current, options);
    return shared;
  }
  const reference::Options options = hashingOptions(1, false);
};

TEST_F(ExecutorTest, EndsWithTheReferencesMemory) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 60; ++i) {
    auto artifact = use(makePipeline(randomShape(random)));
    ASSERT_TRUE(checkArtifact(*artifact).ok());
    const Outcome expected = runReference(*artifact, 3);
    const Outcome got = runThreads(artifact, 3);
    ASSERT_TRUE(got.status.ok()) << got.status.message();
    EXPECT_TRUE(got.slots == expected.slots) << "program " << i;
    EXPECT_TRUE(got.emitted == expected.emitted) << "program " << i;
  }
}

// The first collective of a group in one section is not the first in another.
TEST_F(ExecutorTest, SectionsMeetApart) {
  ArtifactBuilder builder;
  const uint32_t group = builder.group({builder.axis("dp", 2)});
  ProgramBuilder program = builder.program({0, 1});
  const uint32_t queue = program.queue("all");
  for (Section section : {Section::setup, Section::body}) {
    program.begin(section);
    const uint32_t slot = program.slot("x", 4);
    program.run(queue, {}, {slot});
    program.collective(queue, ppx::CollectiveKind_all_reduce, group, {slot},
                       {slot});
  }
  program.step(queue);
  auto artifact = use(builder.take());
  const Outcome expected = runReference(*artifact, 2);
  const Outcome got = runThreads(artifact, 2);
  ASSERT_TRUE(got.status.ok()) << got.status.message();
  EXPECT_TRUE(got.slots == expected.slots);
}

TEST_F(ExecutorTest, EightRanksOnFewCoresAreDeterministic) {
  PipelineShape shape;
  shape.stages = 4;
  shape.replicas = 2;
  shape.microBatches = 8;
  shape.clip = true;
  auto artifact = use(makePipeline(shape));
  const Outcome first = runThreads(artifact, 20);
  ASSERT_TRUE(first.status.ok()) << first.status.message();
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(runThreads(artifact, 20).slots == first.slots);
}

TEST_F(ExecutorTest, ARankThatWaitsLeavesTheCores) {
  ArtifactBuilder builder;
  const uint32_t group = builder.group({builder.axis("dp", 2)});
  for (uint32_t rank : {0, 1}) {
    ProgramBuilder program = builder.program({rank});
    const uint32_t queue = program.queue("all");
    const uint32_t slot = program.slot("x", 4);
    program.begin(Section::body);
    if (rank == 1)
      program.run(queue, {}, {slot});
    program.collective(queue, ppx::CollectiveKind_all_reduce, group, {slot},
                       {slot});
    program.step(queue);
  }
  auto artifact = use(builder.take());
  const std::clock_t before = std::clock(); // of the process
  const Outcome got = runThreads(artifact, 1, [](const std::string &) {
    return reinterpret_cast<void *>(
        +[](void *const *, const int64_t *, int64_t, int64_t) {
          std::this_thread::sleep_for(std::chrono::seconds(1));
        });
  });
  EXPECT_TRUE(got.status.ok()) << got.status.message();
  EXPECT_LT(double(std::clock() - before) / CLOCKS_PER_SEC, 0.2);
}

TEST_F(ExecutorTest, StepsDoNotAllocate) {
  if (!allocationsAreCounted())
    GTEST_SKIP() << "sanitizers bring their own malloc";
  PipelineShape shape;
  shape.stages = 2;
  shape.replicas = 2;
  auto artifact = use(makePipeline(shape));
  // Kernels, loads and emits of the model allocate: leave them out.
  ppx::ArtifactT copy = *artifact;
  for (auto &program : copy.programs)
    for (auto &instruction : writtenOf(*program, Section::body))
      if (instruction->opcode == ppx::Opcode_load ||
          instruction->opcode == ppx::Opcode_emit)
        instruction->opcode = ppx::Opcode_step;
  const Outcome got = runThreads(
      std::make_shared<const ppx::ArtifactT>(std::move(copy)), 10,
      [](const std::string &) {
        return reinterpret_cast<void *>(
            +[](void *const *, const int64_t *, int64_t, int64_t) {});
      });
  ASSERT_TRUE(got.status.ok()) << got.status.message();
  EXPECT_EQ(got.allocations, 0u);
}

TEST_F(ExecutorTest, SharesTheRowsOfAKernelOverTheTeam) {
  constexpr uint32_t rows = 1001;
  for (unsigned threads : {1, 2, 3}) {
    ArtifactBuilder builder;
    ProgramBuilder program = builder.program({0});
    const uint32_t queue = program.queue("compute");
    const uint32_t counts = program.slot("counts", rows);
    program.begin(Section::body);
    program.run(queue, {}, {}, {counts});
    program.step(queue);
    ppx::ArtifactT artifact = builder.take();
    artifact.kernels[0]->bytes = 1e6;
    artifact.kernels[0]->body.AsCompiledKernel()->rows = rows;
    const Outcome got = runThreads(
        use(std::move(artifact)), 3,
        [](const std::string &) {
          return reinterpret_cast<void *>(+[](void *const *arguments,
                                              const int64_t *, int64_t begin,
                                              int64_t end) {
            for (int64_t row = begin; row < end; ++row)
              ++static_cast<uint32_t *>(arguments[0])[row];
          });
        },
        60, threads);
    ASSERT_TRUE(got.status.ok()) << got.status.message();
    for (uint32_t row = 0; row < rows; ++row) {
      uint32_t count;
      std::memcpy(&count, &got.slots[0][row * 4], 4);
      ASSERT_EQ(count, 0xA5A5A5A5 + 3) << row;
    }
  }
}

/// The kernel below writes its scratch address to each of its rows.
uint32_t lowBits(const void *pointer) {
  return uint32_t(reinterpret_cast<uintptr_t>(pointer));
}

TEST_F(ExecutorTest, GivesThreadsScratchOfTheirOwn) {
  constexpr uint32_t rows = 1001, scratch = 128;
  for (unsigned threads : {1, 2, 3})
    for (uint32_t parts : {1, 2, 3}) {
      ArtifactBuilder builder;
      ProgramBuilder program = builder.program({0});
      const uint32_t queue = program.queue("compute");
      const uint32_t places = program.slot("places", rows);
      const uint32_t workspace = program.slot("workspace", parts * scratch / 4);
      program.begin(Section::body);
      program.run(queue, {}, {}, {places, workspace});
      program.step(queue);
      ppx::ArtifactT artifact = builder.take();
      artifact.kernels[0]->bytes = 1e6;
      artifact.kernels[0]->body.AsCompiledKernel()->rows = rows;
      artifact.kernels[0]->body.AsCompiledKernel()->scratch_bytes = scratch;
      const Outcome got = runThreads(
          use(std::move(artifact)), 1,
          [](const std::string &) {
            return reinterpret_cast<void *>(+[](void *const *arguments,
                                                const int64_t *, int64_t begin,
                                                int64_t end) {
              for (int64_t row = begin; row < end; ++row)
                static_cast<uint32_t *>(arguments[0])[row] =
                    lowBits(arguments[1]);
            });
          },
          60, threads);
      ASSERT_TRUE(got.status.ok()) << got.status.message();
      std::vector<uint32_t> found(rows);
      std::memcpy(found.data(), got.slots[0].data(), rows * 4);
      const uint32_t used = std::min(threads, parts);
      for (uint32_t thread = 0; thread < used; ++thread)
        for (uint32_t row = rows * thread / used;
             row < rows * (thread + 1) / used; ++row)
          ASSERT_EQ(found[row] - found[0], thread * scratch)
              << "row " << row << ", " << threads << " threads, " << parts
              << " parts";
    }
}

TEST(AllocationCounter, SeesLiveAndPeakBytes) {
  if (!allocationsAreCounted())
    GTEST_SKIP() << "sanitizers bring their own malloc";
  AllocationCounter counter;
  attributeAllocations(&counter);
  // Called by name: pairs of new and delete may be optimised away.
  ::operator delete(::operator new(100'000));
  void *second = ::operator new(50'000);
  attributeAllocations(nullptr);
  ::operator delete(::operator new(10'000'000));
  EXPECT_EQ(counter.count, 2u);
  EXPECT_NEAR(double(counter.peak), 100'000, 100);
  EXPECT_NEAR(double(counter.live), 50'000, 100);
  ::operator delete(second);
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

TEST_F(ExecutorTest, ReportsADeadlock) {
  // Two stages, each receiving before it sends, in one queue.
  ArtifactBuilder builder;
  builder.axis("pp", 2, ppx::AxisKind_stage);
  for (uint32_t stage = 0; stage < 2; ++stage) {
    ProgramBuilder program = builder.program({stage}, stage);
    const uint32_t queue = program.queue("all");
    const uint32_t in = program.slot("in", 4), out = program.slot("out", 4);
    program.begin(Section::body);
    program.recv(queue, 1 - stage, in);
    program.send(queue, 1 - stage, out);
    program.step(queue);
  }
  const auto start = std::chrono::steady_clock::now();
  const auto artifact = use(builder.take());
  const Outcome got = runThreads(artifact, 1, resolveModelKernel, 0.5);
  EXPECT_EQ(got.status.code(), ExitCode::hang);
  const std::string &text = got.status.message();
  EXPECT_NE(text.find("hang at step 1"), std::string::npos) << text;
  EXPECT_NE(text.find("missing 1"), std::string::npos) << text;
  EXPECT_NE(text.find("wait-for: 0 -> 1 -> 0"), std::string::npos) << text;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  // An interruption takes less time.
  const Outcome ended =
      runThreads(artifact, 1, resolveModelKernel, 60, 1, [] { return true; });
  EXPECT_EQ(ended.status.code(), ExitCode::interrupted);
  EXPECT_EQ(ended.status.message(),
            "interrupted in step 1, which made no progress");
}

TEST_F(ExecutorTest, ReportsADeadlockBeforeAndBehindTheSteps) {
  for (const auto &[section, name] :
       {std::pair{Section::setup, "hang in setup, "},
        {Section::teardown, "hang in teardown, "}}) {
    ArtifactBuilder builder;
    builder.axis("pp", 2, ppx::AxisKind_stage);
    for (uint32_t stage = 0; stage < 2; ++stage) {
      ProgramBuilder program = builder.program({stage}, stage);
      const uint32_t queue = program.queue("all");
      const uint32_t in = program.slot("in", 4), out = program.slot("out", 4);
      program.begin(Section::body);
      program.step(queue);
      program.begin(section);
      program.recv(queue, 1 - stage, in);
      program.send(queue, 1 - stage, out);
    }
    const Outcome got =
        runThreads(use(builder.take()), 1, resolveModelKernel, 0.5);
    EXPECT_EQ(got.status.code(), ExitCode::hang);
    EXPECT_EQ(got.status.message().find(name), 0u) << got.status.message();
  }
}

// An arena that takes longer to fill than ranks may be idle.
TEST_F(ExecutorTest, PoisoningIsNoHang) {
  ArtifactBuilder builder;
  ProgramBuilder program = builder.program({0});
  program.get().arena_bytes = uint64_t(512) << 20;
  program.begin(Section::body);
  program.step(program.queue("compute"));
  auto artifact = use(builder.take());
  auto executor = makeThreadExecutor(
      artifact, {}, std::make_shared<ModelHost>(), {/*hangSeconds=*/0.1, {}});
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  const Status status = (*executor)->run(Section::body, 0);
  EXPECT_TRUE(status.ok()) << status.message();
}

// One of four ranks computes for longer than any may wait, and longer than an
// interruption waits for ranks that stand still.
TEST_F(ExecutorTest, AKernelIsNoHangHoweverLong) {
  ArtifactBuilder builder;
  const uint32_t axis = builder.axis("dp", 4);
  const uint32_t group = builder.group({axis});
  for (uint32_t rank = 0; rank < 4; ++rank) {
    ProgramBuilder program = builder.program({rank});
    const uint32_t compute = program.queue("compute");
    const uint32_t reduces = program.queue("dp", ppx::QueueKind_collective);
    const uint32_t value = program.slot("value", 4);
    program.begin(Section::body);
    if (rank == 3)
      program.run(compute, {}, {value});
    program.collective(reduces, ppx::CollectiveKind_all_reduce, group, {value},
                       {value});
    program.step(compute);
  }
  const Outcome got = runThreads(
      use(builder.take()), 1,
      [](const std::string &) {
        return reinterpret_cast<void *>(
            +[](void *const *, const int64_t *, int64_t, int64_t) {
              std::this_thread::sleep_for(std::chrono::milliseconds(2600));
            });
      },
      0.3, 1, [] { return true; });
  EXPECT_TRUE(got.status.ok()) << got.status.message();
}

TEST_F(ExecutorTest, NamesAMissingKernel) {
  auto artifact = use(makePipeline({}));
  const Outcome got = runThreads(artifact, 1, [](const std::string &) {
    return static_cast<void *>(nullptr);
  });
  EXPECT_EQ(got.status.code(), ExitCode::badArtifact);
  EXPECT_NE(got.status.message().find("no symbol"), std::string::npos);
}

} // namespace
