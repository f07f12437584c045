//===- WorldTest.cpp - a run that several processes share -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Processes are threads here, each with a session that holds some of the ranks;
// they communicate through a shared transport. Their results are compared with
// one session that holds all ranks, byte by byte.
//
//===----------------------------------------------------------------------===//
#include "ExecutionModel.h"
#include "Pipelines.h"
#include "ProgramBuilder.h"
#include "ThreadWorld.h"
#include "engine/Pools.h"

#include "pprt/Bytes.h"
#include "pprt/Checks.h"
#include "pprt/Session.h"
#include "pprt/World.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <thread>
#include <unistd.h>

using namespace pprt;
using namespace pprt::test;

namespace {

struct Outcome {
  Status status;
  std::vector<Bytes> outputs, arguments;
  std::vector<double> losses;
  std::vector<uint64_t> peaks; ///< by rank
};

/// One process's part of a run. `batch`: whether it sets the inputs.
Outcome runPart(std::shared_ptr<const ppx::ArtifactT> artifact,
                std::shared_ptr<World> world, bool batch = true,
                bool leads = false) {
  Outcome outcome;
  SessionOptions options;
  options.resolver = resolveModelKernel;
  options.world = std::move(world);
  options.leads = leads;
  Expected<std::unique_ptr<Session>> created =
      Session::create(artifact, options);
  if (!created) {
    outcome.status = created.status();
    return outcome;
  }
  Session &session = **created;
  EXPECT_TRUE(session.initialize(3).ok());
  for (uint32_t i = 0; i < artifact->arguments.size() && batch; ++i) {
    if (artifact->arguments[i]->role != ppx::Role_input)
      continue;
    Bytes values(session.argumentBytes(i));
    for (size_t byte = 0; byte < values.size(); ++byte)
      values[byte] = std::byte(byte * 13 + i);
    outcome.status = session.setInput(i, values.data(), values.size());
    EXPECT_TRUE(outcome.status.ok());
  }
  outcome.status = session.begin();
  for (int step = 0; step < 3 && outcome.status.ok(); ++step) {
    outcome.status = session.step();
    outcome.losses.push_back(session.scalar(0));
  }
  if (outcome.status.ok())
    outcome.status = session.end();
  if (!outcome.status.ok())
    return outcome;
  EXPECT_TRUE(session.collect().ok());
  for (uint32_t rank = 0; rank < session.mesh().worldSize(); ++rank) {
    outcome.peaks.push_back(session.measuredPeakBytes(rank));
    for (const InstructionTime &time : session.times(rank, Section::body))
      EXPECT_TRUE(time.begin > 0 && time.begin <= time.end);
  }
  for (uint32_t i = 0; i < artifact->outputs.size(); ++i) {
    const auto *bytes = static_cast<const std::byte *>(session.output(i));
    outcome.outputs.emplace_back(bytes, bytes + session.outputBytes(i));
  }
  for (uint32_t i = 0; i < artifact->arguments.size(); ++i) {
    if (artifact->arguments[i]->role == ppx::Role_input)
      continue;
    Bytes &values = outcome.arguments.emplace_back(session.argumentBytes(i));
    outcome.status = session.getArgument(i, values.data(), values.size());
    EXPECT_TRUE(outcome.status.ok());
  }
  return outcome;
}

/// Results by process. Process `withoutBatch` sets no inputs.
std::vector<Outcome> runShared(std::shared_ptr<const ppx::ArtifactT> artifact,
                               uint32_t processes,
                               uint32_t withoutBatch = ~0u) {
  Square square(processes);
  std::vector<Outcome> outcomes(processes);
  std::vector<std::thread> threads;
  for (uint32_t process = 0; process < processes; ++process)
    threads.emplace_back([&, process] {
      outcomes[process] =
          runPart(artifact, std::make_shared<ThreadWorld>(square, process),
                  process != withoutBatch);
    });
  for (std::thread &thread : threads)
    thread.join();
  return outcomes;
}

/// The same with one process that leads.
Outcome runLed(std::shared_ptr<const ppx::ArtifactT> artifact,
               uint32_t processes, bool batch = true) {
  Square square(processes);
  Outcome outcome;
  std::vector<std::thread> threads;
  for (uint32_t process = 0; process < processes; ++process)
    threads.emplace_back([&, process] {
      const auto world = std::make_shared<ThreadWorld>(square, process);
      if (process != 0) {
        EXPECT_TRUE(followSessions(world, resolveModelKernel).ok());
        return;
      }
      outcome = runPart(artifact, world, batch, /*leads=*/true);
      EXPECT_TRUE(endFollowing(*world).ok());
    });
  for (std::thread &thread : threads)
    thread.join();
  return outcome;
}

class WorldTest : public testing::Test {
protected:
  std::shared_ptr<const ppx::ArtifactT> use(const PipelineShape &shape) {
    auto artifact = std::make_shared<const ppx::ArtifactT>(makePipeline(shape));
    EXPECT_TRUE(checkArtifact(*artifact).ok());
    useModelKernels(*artifact, options);
    return artifact;
  }
  const reference::Options options = hashingOptions(1, false);
};

/// NaN is equal to itself here.
void expectSameDoubles(const std::vector<double> &a,
                       const std::vector<double> &b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(double)), 0);
}

} // namespace

TEST_F(WorldTest, SharedRunsEndWithTheSameBytes) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 40; ++i) {
    const PipelineShape shape = randomShape(random);
    const auto artifact = use(shape);
    const uint32_t ranks = shape.stages * shape.replicas;
    const Outcome whole = runPart(artifact, nullptr);
    ASSERT_TRUE(whole.status.ok()) << whole.status.message();
    const uint32_t processes =
        std::min<uint32_t>(ranks, 2 + uint32_t(random() % 3));
    const std::vector<Outcome> parts = runShared(artifact, processes);
    for (const Outcome &part : parts) {
      ASSERT_TRUE(part.status.ok()) << part.status.message();
      expectSameDoubles(part.losses, whole.losses);
    }
    EXPECT_EQ(parts[0].outputs, whole.outputs) << "program " << i;
    EXPECT_EQ(parts[0].arguments, whole.arguments) << "program " << i;
    EXPECT_EQ(parts[0].peaks, whole.peaks) << "program " << i;
  }
}

TEST_F(WorldTest, AFailureOfOneProcessEndsAll) {
  PipelineShape shape;
  shape.stages = 2;
  shape.replicas = 2;
  const auto artifact = use(shape);
  // The first half of the ranks loads; the others wait for its messages.
  for (const Outcome &part : runShared(artifact, 2, /*withoutBatch=*/0)) {
    EXPECT_EQ(part.status.code(), ExitCode::usage);
    EXPECT_EQ(part.status.message(), "input 'input' expects a batch, got none");
  }
}

TEST_F(WorldTest, ProcessesHaveOneArtifact) {
  PipelineShape shape;
  shape.replicas = 2;
  const auto artifact = use(shape);
  const auto expectOther = [&](auto &&edit) {
    auto other = std::make_shared<ppx::ArtifactT>(*artifact);
    edit(*other);
    Square square(2);
    std::vector<Outcome> outcomes(2);
    std::thread second([&] {
      outcomes[1] = runPart(other, std::make_shared<ThreadWorld>(square, 1));
    });
    outcomes[0] = runPart(artifact, std::make_shared<ThreadWorld>(square, 0));
    second.join();
    for (const Outcome &outcome : outcomes) {
      EXPECT_EQ(outcome.status.code(), ExitCode::ranksDisagree);
      EXPECT_EQ(outcome.status.message(),
                "expects the same artifact in all processes, got another in "
                "process 1; open one file everywhere, and one image of it");
    }
  };
  expectOther([](ppx::ArtifactT &other) { other.plan = "another"; });
  // The same plan, with another constant in a kernel.
  expectOther([](ppx::ArtifactT &other) { other.object = {1}; });
}

// A process that cannot even begin tells all others, which do not wait for it.
TEST_F(WorldTest, NobodyWaitsForOneThatCannotBegin) {
  PipelineShape large, small;
  large.replicas = 2;
  small.replicas = small.stages = 1;
  const auto two = use(large), one = use(small);
  ASSERT_EQ(Mesh::create(one->axes)->worldSize(), 1u);
  Square square(2);
  std::vector<Status> statuses(2);
  std::vector<std::thread> threads;
  for (uint32_t process : {0, 1})
    threads.emplace_back([&, process] {
      SessionOptions options;
      options.resolver = resolveModelKernel;
      options.world = std::make_shared<ThreadWorld>(square, process);
      statuses[process] =
          Session::create(process == 0 ? two : one, options).status();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Status &status : statuses)
    EXPECT_EQ(status.code(), ExitCode::ranksDisagree) << status.message();

  // The same file, in a process with other options.
  Square another(2);
  threads.clear();
  for (uint32_t process : {0, 1})
    threads.emplace_back([&, process] {
      SessionOptions options;
      options.resolver = resolveModelKernel;
      options.world = std::make_shared<ThreadWorld>(another, process);
      options.hangTimeoutSeconds = process == 0 ? 30 : -1;
      statuses[process] = Session::create(two, options).status();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Status &status : statuses)
    EXPECT_EQ(status.code(), ExitCode::usage) << status.message();
}

// Replicas would stay different for ever.
TEST_F(WorldTest, ProcessesInitializeAlike) {
  PipelineShape shape;
  shape.replicas = 2;
  const auto artifact = use(shape);
  const uint32_t count = uint32_t(artifact->arguments.size());
  uint32_t parameter = 0;
  while (artifact->arguments[parameter]->role == ppx::Role_input)
    ++parameter;
  const auto outcomes = [&](auto &&initialize) {
    Square square(2);
    std::vector<Status> statuses(2);
    std::vector<std::thread> threads;
    for (uint32_t process : {0, 1})
      threads.emplace_back([&, process] {
        SessionOptions options;
        options.resolver = resolveModelKernel;
        options.world = std::make_shared<ThreadWorld>(square, process);
        auto session = Session::create(artifact, options);
        ASSERT_TRUE(session.ok()) << session.status().message();
        statuses[process] = initialize(**session, process);
        // The session goes on.
        EXPECT_TRUE((*session)->initialize(3).ok());
      });
    for (std::thread &thread : threads)
      thread.join();
    return statuses;
  };
  for (const Status &status : outcomes([](Session &session, uint32_t process) {
         return session.initialize(3 + process);
       })) {
    EXPECT_EQ(status.code(), ExitCode::ranksDisagree);
    EXPECT_EQ(status.message(), "expects the same seed in all processes, got "
                                "another in process 1; initialize all by one");
  }
  for (const Status &status : outcomes([&](Session &session, uint32_t process) {
         std::vector<uint8_t> keeps(count);
         keeps[parameter] = process == 0;
         return session.initialize(3, keeps);
       })) {
    EXPECT_EQ(status.code(), ExitCode::ranksDisagree);
    EXPECT_EQ(status.message(),
              "expects the same arguments to have values in all processes, got "
              "another in process 1; set or load the same ones everywhere");
  }
}

TEST_F(WorldTest, ProcessesThatFollowEndWithTheSameBytes) {
  std::mt19937_64 random(13);
  for (int i = 0; i < 10; ++i) {
    const PipelineShape shape = randomShape(random);
    const auto artifact = use(shape);
    const Outcome whole = runPart(artifact, nullptr);
    const Outcome led =
        runLed(artifact, std::min<uint32_t>(3, shape.stages * shape.replicas));
    ASSERT_TRUE(led.status.ok()) << led.status.message();
    expectSameDoubles(led.losses, whole.losses);
    EXPECT_EQ(led.outputs, whole.outputs) << "program " << i;
    EXPECT_EQ(led.arguments, whole.arguments) << "program " << i;
    EXPECT_EQ(led.peaks, whole.peaks) << "program " << i;
  }
}

TEST_F(WorldTest, ProcessesThatFollowFailTogether) {
  PipelineShape shape;
  shape.stages = 2;
  const auto artifact = use(shape);
  EXPECT_EQ(runLed(artifact, 2, /*batch=*/false).status.message(),
            "input 'input' expects a batch, got none");
  EXPECT_EQ(runLed(artifact, 3).status.code(), ExitCode::usage);
}

TEST_F(WorldTest, RefusesMoreProcessesThanRanks) {
  PipelineShape shape;
  shape.stages = 2;
  const auto artifact = use(shape);
  for (const Outcome &part : runShared(artifact, 3)) {
    EXPECT_EQ(part.status.code(), ExitCode::usage);
    EXPECT_EQ(part.status.message(),
              "expects at most 2 processes, one for each rank, got 3; start "
              "fewer, or give a larger mesh");
  }
}

static std::string told(uint64_t bytes) {
  return printBytes(double(bytes)) + " (" + std::to_string(bytes) + " bytes)";
}

// Each process alone would have the memory. Filled, they would be killed.
TEST_F(WorldTest, ProcessesOfOneHostShareItsMemory) {
  const uint64_t memory =
      uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGE_SIZE));
  const uint64_t bytes = memory / 5 * 3 / 64 * 64;
  ArtifactBuilder builder;
  builder.axis("dp", 2);
  ProgramBuilder program = builder.program({0, 1});
  program.get().arena_bytes = bytes;
  program.begin(Section::body);
  program.step(program.queue("compute"));
  const auto artifact = std::make_shared<const ppx::ArtifactT>(builder.take());
  const std::string each = std::to_string(bytes);
  for (const Outcome &part : runShared(artifact, 2)) {
    EXPECT_EQ(part.status.code(), ExitCode::outOfMemory);
    EXPECT_EQ(part.status.message(),
              "expects " + told(2 * bytes) +
                  " for 2 ranks of processes that share it (process 0: " +
                  each + ", process 1: " + each + "), got " + told(memory) +
                  ", the memory of this machine; use a smaller model or "
                  "batch, or more hosts");
  }
}

// Pools of hosts, and of GPUs of one host, share no memory, and so no limit.
TEST(World, PoolsHaveMemoryOfTheirOwn) {
  constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
  const std::vector<std::string> pools = {"a", "b", "a", "b", ""};
  const std::vector<std::vector<uint64_t>> arenas = {
      {40, 30}, {90}, {20, 20}, {10}, {most, 1}};
  Square square(5);
  std::vector<Status> found(5);
  std::vector<std::thread> threads;
  for (uint32_t process = 0; process < 5; ++process)
    threads.emplace_back([&, process] {
      ThreadWorld world(square, process);
      found[process] = checkPools(
          world, {{{pools[process], "of a test", 100}, arenas[process]}});
    });
  for (std::thread &thread : threads)
    thread.join();
  for (uint32_t process : {0, 2})
    EXPECT_EQ(found[process].message(),
              "expects 110 B (110 bytes) for 4 ranks of processes that share "
              "it (process 0: 70, process 2: 40), got 100 B (100 bytes), of a "
              "test; use a smaller model or batch, or more hosts");
  for (uint32_t process : {1, 3})
    EXPECT_TRUE(found[process].ok()) << found[process].message();
  EXPECT_EQ(found[4].message(),
            "expects " + told(most) +
                " for 2 ranks, got 100 B (100 bytes), of a test; use a "
                "smaller model or batch");
}

TEST(World, PoolsAreWithinOthersThatHoldAllOfThem) {
  // Two groups of a job, each of which has room for its own.
  Square square(2);
  Status found[2];
  std::vector<std::thread> threads;
  for (uint32_t process : {0, 1})
    threads.emplace_back([&, process] {
      ThreadWorld world(square, process);
      MemoryPool group = {"group " + std::to_string(process), "a group's", 50};
      group.around = {{"job", "of a job", 60}};
      found[process] = checkPools(world, {{group, {40}}});
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Status &status : found)
    EXPECT_EQ(status.message(),
              "expects 80 B (80 bytes) for 2 ranks of processes that share it "
              "(process 0: 40, process 1: 40), got 60 B (60 bytes), of a job; "
              "use a smaller model or batch, or more hosts");
}

TEST(World, RanksLieInContiguousBlocks) {
  for (uint32_t processes = 1; processes <= 5; ++processes) {
    Square square(processes);
    ThreadWorld world(square, 0);
    for (uint32_t ranks = processes; ranks <= 13; ++ranks) {
      uint32_t next = 0;
      for (uint32_t process = 0; process < processes; ++process) {
        const RankRange range = world.ranksOf(process, ranks);
        EXPECT_EQ(range.begin, next);
        EXPECT_GT(range.size(), 0u);
        for (next = range.begin; next < range.end; ++next)
          EXPECT_EQ(world.processOf(next, ranks), process);
      }
      EXPECT_EQ(next, ranks);
    }
  }
}
