//===- StandstillTest.cpp - waits and hangs of three processes ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Under mpirun -n 3, a rank in each process: a process that waits for long for
// one that works, or that has not begun yet, is patient; in a hang, process 0
// knows what all wait for, and all end with its report.
//
//===----------------------------------------------------------------------===//
#include "ProgramBuilder.h"

#include "backends/Backends.h"
#include "collectives/mpi/Plugin.h"
#include "engine/polled/PolledExecutor.h"
#include "pprt/World.h"

#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <thread>

using namespace pprt;
using namespace pprt::test;
using std::chrono::milliseconds;

namespace {

std::shared_ptr<World> world; ///< set by main()
constexpr uint32_t kRanks = 3;
constexpr double kTimeout = 0.5;

class NoHost final : public HostData {
public:
  Status load(uint32_t, const Instruction &, std::byte *) override {
    return {};
  }
  void emit(uint32_t, const Instruction &, const std::byte *) override {}
};

bool isInterrupted = false; ///< by a user

/// The body of all kernels.
void work(void *const *, const int64_t *, int64_t, int64_t) {
  std::this_thread::sleep_for(milliseconds(50));
}
void workForLong(void *const *, const int64_t *, int64_t, int64_t) {
  std::this_thread::sleep_for(milliseconds(isInterrupted ? 3400 : 1200));
}

/// What one process does instead of running its rank's body at once.
enum class Instead {
  comesLate, ///< later than others wait
  leaves,    ///< closes the session and goes on
  asks       ///< goes on to another call of the world
};

/// Runs the body of this process's rank, except in process `other`.
Status run(ArtifactBuilder &builder,
           void (*kernel)(void *const *, const int64_t *, int64_t, int64_t),
           uint32_t other = kRanks, Instead instead = Instead::comesLate) {
  const auto artifact = std::make_shared<const ppx::ArtifactT>(builder.take());
  std::shared_ptr<PolledDevice> device = cpu::makeDevice(
      {[&](const std::string &) { return reinterpret_cast<void *>(kernel); },
       1});
  ExecutorOptions options;
  options.limits = {isInterrupted ? 60 : kTimeout,
                    [] { return isInterrupted; }};
  options.ranks = world->ranksOf(world->process(), kRanks);
  auto made = world->transport(kRanks);
  if (!made)
    return made.status();
  std::shared_ptr<PolledTransport> transport = std::move(*made);
  auto executor = polled::PolledExecutor::create(
      artifact, *Mesh::create(artifact->axes), device, transport, options,
      std::make_shared<NoHost>());
  Status status = executor.status();
  if (status.ok())
    status = transport->connect();
  EXPECT_TRUE(status.ok()) << status.message();
  if (world->process() != other || instead == Instead::comesLate) {
    if (world->process() == other)
      std::this_thread::sleep_for(milliseconds(1500));
    if (status.ok())
      status = (*executor)->run(Section::body, 0);
  } else if (instead == Instead::leaves) {
    executor = Status(ExitCode::ok, "");
    transport.reset();
    device.reset();
  }
  return world->agree(status).first;
}

/// Adds a program for each stage: a queue, a value and the result of `build`.
template <typename Build>
static void addStages(ArtifactBuilder &builder, Build &&build) {
  builder.axis("pp", kRanks, ppx::AxisKind_stage);
  for (uint32_t stage = 0; stage < kRanks; ++stage) {
    ProgramBuilder program = builder.program({stage}, stage);
    const uint32_t queue = program.queue("all");
    const uint32_t value = program.slot("value", 4);
    program.begin(Section::body);
    build(program, stage, queue, value);
    program.step(queue);
  }
}

/// Stage 0 computes for 1.5 s, in short kernels, before it sends to 1, which
/// sends to 2.
TEST(Standstill, WaitingForOneThatComputesIsNoHang) {
  ArtifactBuilder builder;
  addStages(builder, [](ProgramBuilder &program, uint32_t stage, uint32_t queue,
                        uint32_t value) {
    if (stage == 0)
      for (int i = 0; i < 30; ++i)
        program.run(queue, {}, {value});
    else
      program.recv(queue, stage - 1, value);
    if (stage + 1 < kRanks)
      program.send(queue, stage + 1, value);
  });
  const Status status = run(builder, work);
  EXPECT_TRUE(status.ok()) << status.message();
}

/// In one process a kernel takes longer than others may wait, and longer than
/// an interruption waits for ranks that stand still. One of the others waits in
/// the step, one behind it.
TEST(Standstill, AKernelOfAnotherProcessIsNoHang) {
  for (bool isAsked : {false, true})
    for (uint32_t busy : {0, 2}) {
      isInterrupted = isAsked;
      world->watch([] { return isInterrupted; });
      ArtifactBuilder builder;
      addStages(builder, [busy](ProgramBuilder &program, uint32_t stage,
                                uint32_t queue, uint32_t value) {
        if (stage == busy) {
          program.run(queue, {}, {value});
          program.send(queue, 1, value);
        } else if (stage == 1) {
          program.recv(queue, busy, value);
        }
      });
      const Status status = run(builder, workForLong);
      EXPECT_TRUE(status.ok()) << status.message();
      isInterrupted = false;
      world->watch({});
    }
}

TEST(Standstill, WaitingForOneThatHasNotBegunIsNoHang) {
  for (uint32_t late = 0; late < kRanks; ++late) {
    ArtifactBuilder builder;
    const uint32_t axis = builder.axis("dp", kRanks);
    const uint32_t group = builder.group({axis});
    ProgramBuilder program = builder.program({0, 1, 2});
    const uint32_t queue = program.queue("all");
    const uint32_t value = program.slot("value", 4);
    program.begin(Section::body);
    program.run(queue, {}, {value});
    program.collective(queue, ppx::CollectiveKind_all_reduce, group, {value},
                       {value});
    program.step(queue);
    const Status status = run(builder, work, late);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

/// Messages that take 50 ms each: run by itself, with its own limits.
TEST(Slow, MessagesThatComeAreNoHang) {
  ArtifactBuilder builder;
  const uint32_t axis = builder.axis("dp", kRanks);
  const uint32_t group = builder.group({axis});
  ProgramBuilder program = builder.program({0, 1, 2});
  const uint32_t queue = program.queue("all");
  const uint32_t value = program.slot("value", 10'000);
  program.begin(Section::body);
  program.collective(queue, ppx::CollectiveKind_all_reduce, group, {value},
                     {value});
  program.step(queue);
  const auto begin = std::chrono::steady_clock::now();
  const Status status = run(builder, work);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_GT(std::chrono::steady_clock::now() - begin, milliseconds(1500));
}

/// Returns the seconds of a report in which nothing has happened.
double secondsOf(const std::string &report) {
  const std::string start = "hang at step 1, ";
  return report.find(start) == 0 ? std::stod(report.substr(start.size())) : -1;
}

/// The other processes wait for one that will never come: it has closed the
/// session, or waits for them in turn, in another call.
TEST(Hang, OneThatIsElsewhereIsNotWaitedForEndlessly) {
  for (Instead instead : {Instead::leaves, Instead::asks})
    for (uint32_t other = 0; other < kRanks; ++other) {
      ArtifactBuilder builder;
      const uint32_t axis = builder.axis("dp", kRanks);
      const uint32_t group = builder.group({axis});
      ProgramBuilder program = builder.program({0, 1, 2});
      const uint32_t queue = program.queue("all");
      const uint32_t value = program.slot("value", 4);
      program.begin(Section::body);
      program.collective(queue, ppx::CollectiveKind_all_reduce, group, {value},
                         {value});
      program.step(queue);
      const auto begin = std::chrono::steady_clock::now();
      const Status status = run(builder, work, other, instead);
      EXPECT_LT(std::chrono::steady_clock::now() - begin,
                std::chrono::seconds(8));
      EXPECT_EQ(status.code(), ExitCode::hang) << status.message();
      EXPECT_NE(status.message().find("not here: ranks "), std::string::npos)
          << status.message();
      EXPECT_GE(secondsOf(status.message()), kTimeout) << status.message();
    }
}

/// Each stage waits for the next one before it sends; the last is idle.
void makeDeadlock(ArtifactBuilder &builder) {
  builder.axis("pp", kRanks, ppx::AxisKind_stage);
  for (uint32_t stage = 0; stage < kRanks; ++stage) {
    ProgramBuilder program = builder.program({stage}, stage);
    const uint32_t queue = program.queue("all");
    const uint32_t in = program.slot("in", 4), out = program.slot("out", 4);
    program.begin(Section::body);
    if (stage > 0) {
      program.recv(queue, 3 - stage, in);
      program.send(queue, 3 - stage, out);
    }
    program.step(queue);
  }
}

TEST(Hang, ADeadlockIsToldOfAllRanks) {
  ArtifactBuilder builder;
  makeDeadlock(builder);
  const auto begin = std::chrono::steady_clock::now();
  const Status status = run(builder, work);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(status.code(), ExitCode::hang);
  const std::string &text = status.message();
  EXPECT_GE(secondsOf(text), kTimeout) << text;
  for (const char *expected :
       {"\n  rank 0: has finished", "\n  rank 1: waits in ", "missing 2)",
        "\n  rank 2: waits in ", "missing 1)", "\n  wait-for: 1 -> 2 -> 1"})
    EXPECT_NE(text.find(expected), std::string::npos) << text;
}

/// An interruption does not wait for ranks that only wait.
TEST(Hang, ADeadlockIsInterrupted) {
  isInterrupted = true;
  ArtifactBuilder builder;
  makeDeadlock(builder);
  const auto begin = std::chrono::steady_clock::now();
  const Status status = run(builder, work);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(status.code(), ExitCode::interrupted);
  EXPECT_EQ(status.message(), "interrupted in step 1, which made no progress");
  isInterrupted = false;
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  mpi::Limits limits;
  limits.silenceSeconds = 3;
  if (argc > 1 && std::string(argv[1]) == "--small-messages")
    limits.messageBytes = 1000, limits.stagingBytes = 4096;
  Expected<std::unique_ptr<World>> opened =
      mpi::openWorld(PP_MPI_LIBRARY, &limits);
  if (!opened) {
    std::cerr << opened.status().message() << "\n";
    return int(opened.status().code());
  }
  world = std::move(*opened);
  // Only process 0 prints, unless something fails.
  if (world->process() != 0)
    delete testing::UnitTest::GetInstance()->listeners().Release(
        testing::UnitTest::GetInstance()->listeners().default_result_printer());
  const bool failed = RUN_ALL_TESTS() != 0;
  const Verdict verdict = world->agree(
      failed ? Status(ExitCode::verifyDiffers, "tests failed") : Status());
  if (world->process() == 0 && verdict.first.ok())
    std::cout << "all processes agree" << std::endl;
  world.reset();
  return verdict.first.ok() ? 0 : 1;
}
