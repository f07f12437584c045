//===- FailuresTest.cpp - how a run that fails comes to an end ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Failures that arrive at the worst moment: right before a rank sleeps, and
// while another is inside a kernel that does not return. Under the thread
// sanitizer these also test that nothing reads memory that such a kernel may
// still write.
//
//===----------------------------------------------------------------------===//
#include "ProgramBuilder.h"
#include "ThreadExecutor.h"
#include "ThreadWorld.h"

#include "collectives/mpi/Failures.h"
#include "pprt/Session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

using namespace pprt;
using namespace pprt::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// A host whose input cannot be read.
class FailingHost final : public HostData {
public:
  Status load(uint32_t, const Instruction &, std::byte *) override {
    while (awaited && !*awaited)
      std::this_thread::sleep_for(milliseconds(1));
    return Status(ExitCode::io, "the input cannot be read");
  }
  void emit(uint32_t, const Instruction &, const std::byte *) override {}

  /// Condition to wait for before failing.
  const std::atomic<bool> *awaited = nullptr;
};

/// A kernel that writes to its argument until it is released.
std::atomic<bool> entered{false}, released{false};
void hang(void *const *arguments, const int64_t *, int64_t, int64_t) {
  entered = true;
  auto *value = static_cast<uint32_t *>(arguments[0]);
  while (!released)
    ++*value;
}
/// A detached thread cannot be joined.
void release() {
  released = true;
  std::this_thread::sleep_for(milliseconds(200));
}
void *resolveHang(const std::string &) {
  return reinterpret_cast<void *>(hang);
}

std::shared_ptr<const ppx::ArtifactT> share(ArtifactBuilder &builder) {
  return std::make_shared<const ppx::ArtifactT>(builder.take());
}

Expected<std::unique_ptr<polled::PolledExecutor>>
makeExecutor(std::shared_ptr<const ppx::ArtifactT> artifact,
             std::shared_ptr<HostData> host) {
  return makeThreadExecutor(std::move(artifact), {resolveHang},
                            std::move(host));
}

/// Requested by another thread right after a rank's check: as late as possible.
class LateCancellation final : public polled::Cancellation {
public:
  explicit LateCancellation(polled::Rank &rank) : rank(rank) {}
  bool isRequested() const override {
    if (requested)
      return true;
    std::thread([this] {
      requested = true;
      rank.event->wake();
    }).join();
    return false;
  }

private:
  polled::Rank &rank;
  mutable std::atomic<bool> requested{false};
};

// Failures of earlier sessions are consequences: they set no deadline.
TEST(Failures, ASettledOneHasConsequences) {
  mpi::Failures failures;
  const uint64_t before = failures.settled();
  failures.note(Status(ExitCode::io, "the cause"), before);
  failures.note(Status(ExitCode::hang, "another"), before);
  EXPECT_TRUE(failures.isOpen());
  EXPECT_EQ(failures.first().message(), "the cause");
  failures.settle();
  EXPECT_FALSE(failures.isOpen());
  failures.note(Status(ExitCode::hang, "a consequence"), before);
  EXPECT_FALSE(failures.isOpen());
  EXPECT_TRUE(failures.first().ok());
  EXPECT_TRUE(failures.hasAny());
  failures.note(Status(ExitCode::hang, "of a session since"),
                failures.settled());
  EXPECT_TRUE(failures.isOpen());
}

// A rank that sleeps although it was told to leave never wakes.
TEST(Failures, ACancellationIsSeenBeforeTheRankSleeps) {
  // Stage 0 waits for a message that stage 1 never sends.
  ArtifactBuilder builder;
  builder.axis("pp", 2, ppx::AxisKind_stage);
  for (uint32_t stage = 0; stage < 2; ++stage) {
    ProgramBuilder program = builder.program({stage}, stage);
    const uint32_t queue = program.queue("all");
    const uint32_t slot = program.slot("x", 4);
    program.begin(Section::body);
    if (stage == 0)
      program.recv(queue, 1, slot);
    else
      program.send(queue, 0, slot);
    program.step(queue);
  }
  FailingHost host;
  auto executor = makeExecutor(share(builder), std::make_shared<FailingHost>());
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  polled::Rank &rank = (*executor)->rank(0);
  const LateCancellation cancellation(rank);
  auto stream = cpu::makeDevice({})->stream(*rank.arena, rank.allocations);
  ASSERT_TRUE(stream.ok());
  std::future<void> left = std::async(std::launch::async, [&] {
    (void)rank.run(Section::body, 0, **stream, host, cancellation, 0);
  });
  EXPECT_EQ(left.wait_for(seconds(10)), std::future_status::ready);
  rank.event->wake(); // so that a failed test ends, too
}

// Rank 0 is inside the kernel when rank 1's load fails.
TEST(Failures, DoNotWaitForAKernelThatHangs) {
  entered = released = false;
  ArtifactBuilder builder;
  builder.axis("dp", 2);
  const uint32_t input = builder.argument("x", ppx::Role_input, 4);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    ProgramBuilder program = builder.program({rank});
    const uint32_t queue = program.queue("compute");
    const uint32_t slot = program.slot("x", 4);
    program.begin(Section::body);
    if (rank == 0)
      program.run(queue, {}, {slot});
    else
      program.load(queue, input, slot);
    program.step(queue);
  }
  auto host = std::make_shared<FailingHost>();
  host->awaited = &entered;
  auto executor = makeExecutor(share(builder), host);
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  std::future<Status> failure = std::async(
      std::launch::async, [&] { return (*executor)->run(Section::body, 0); });
  const bool returns =
      failure.wait_for(seconds(10)) == std::future_status::ready;
  EXPECT_TRUE(returns);
  if (!returns)
    released = true; // so that a failed test ends, too
  const Status status = failure.get();
  EXPECT_EQ(status.code(), ExitCode::io);
  EXPECT_EQ(status.message(), "the input cannot be read");
  EXPECT_TRUE((*executor)->isStuck());
  EXPECT_EQ((*executor)->run(Section::body, 1).message(), status.message());
  executor->reset();
  release();
}

TEST(Failures, OfTheHostEndAllRanks) {
  ArtifactBuilder builder;
  const uint32_t axis = builder.axis("dp", 2);
  const uint32_t group = builder.group({axis});
  const uint32_t input = builder.argument("x", ppx::Role_input, 4);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    ProgramBuilder program = builder.program({rank});
    const uint32_t compute = program.queue("compute");
    const uint32_t reduces = program.queue("dp", ppx::QueueKind_collective);
    const uint32_t slot = program.slot("x", 4);
    program.begin(Section::body);
    if (rank == 1)
      program.load(compute, input, slot);
    program.collective(reduces, ppx::CollectiveKind_all_reduce, group, {slot},
                       {slot});
    program.step(compute);
  }
  auto executor = makeExecutor(share(builder), std::make_shared<FailingHost>());
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  EXPECT_EQ((*executor)->run(Section::body, 0).code(), ExitCode::io);
  EXPECT_FALSE((*executor)->isStuck());
}

/// Keeps its participants, as if messages had no end.
class KeepingTransport final : public PolledTransport {
public:
  Expected<Ticket> prepare(Participant participant) override {
    told.push_back(std::move(participant));
    return Ticket(told.size() - 1);
  }
  Status connect() override { return {}; }
  void start(Ticket, uint64_t) override {}
  bool ready(Ticket, uint64_t) override { return false; }
  Progress test(Ticket, uint64_t) override { return Progress::pending; }
  Status poll() override { return {}; }
  void abort(const Status &) override {}
  uint64_t progress() const override { return moved; }
  void watch(std::weak_ptr<Watched> its) override { watched = std::move(its); }

  std::vector<Participant> told;
  std::atomic<uint64_t> moved{0};
  std::weak_ptr<Watched> watched;
};

/// Two ranks that meet in the body.
static std::shared_ptr<const ppx::ArtifactT> makeCommOp() {
  ArtifactBuilder builder;
  const uint32_t group = builder.group({builder.axis("dp", 2)});
  for (uint32_t rank = 0; rank < 2; ++rank) {
    ProgramBuilder program = builder.program({rank});
    const uint32_t queue = program.queue("dp", ppx::QueueKind_collective);
    const uint32_t slot = program.slot("x", 4);
    program.begin(Section::body);
    program.collective(queue, ppx::CollectiveKind_all_reduce, group, {slot},
                       {slot});
    program.step(program.queue("compute"));
  }
  return share(builder);
}

// The transport may be destroyed last.
TEST(Failures, ATransportHoldsWhatItsMessagesTouch) {
  const auto transport = std::make_shared<KeepingTransport>();
  const auto artifact = makeCommOp();
  auto executor = polled::PolledExecutor::create(
      artifact, *Mesh::create(artifact->axes), cpu::makeDevice({}), transport,
      {{0, 2}, {}}, std::make_shared<FailingHost>());
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  executor->reset();
  ASSERT_EQ(transport->told.size(), 2u);
  for (const Participant &its : transport->told) {
    EXPECT_TRUE(its.memory);
    its.inputs[0][0] = its.outputs[0][0];
    its.waker->wake();
  }
}

// A slow comm op is no hang while its messages come, and a process that is
// asked knows of the last one before the watchdog does.
TEST(Failures, WhatATransportMovesIsProgress) {
  const auto transport = std::make_shared<KeepingTransport>();
  const auto artifact = makeCommOp();
  auto executor = polled::PolledExecutor::create(
      artifact, *Mesh::create(artifact->axes), cpu::makeDevice({}), transport,
      {{0, 2}, {/*hangSeconds=*/1, {}}}, std::make_shared<FailingHost>());
  ASSERT_TRUE(executor.ok()) << executor.status().message();
  std::future<Status> end = std::async(
      std::launch::async, [&] { return (*executor)->run(Section::body, 0); });
  for (int i = 0; i < 80; ++i) {
    std::this_thread::sleep_for(milliseconds(20));
    ++transport->moved;
  }
  EXPECT_EQ(end.wait_for(seconds(0)), std::future_status::timeout);
  std::this_thread::sleep_for(milliseconds(500));
  const auto watched = transport->watched.lock();
  ASSERT_TRUE(watched);
  EXPECT_GT(watched->standstill(1).seconds, 0.2);
  ++transport->moved;
  EXPECT_LT(watched->standstill(1).seconds, 0.2);
  EXPECT_EQ(end.get().code(), ExitCode::hang);
}

// It sleeps, and no transport knows of it.
TEST(Failures, ARankThatWaitsForItselfIsWoken) {
  ArtifactBuilder builder;
  ProgramBuilder program = builder.program({0});
  program.automaticWaits = false;
  const uint32_t queues[] = {program.queue("one"), program.queue("other")};
  program.begin(Section::body);
  for (uint32_t which : {0, 1})
    program.copy(queues[which], program.slot("from", 4), program.slot("to", 4))
        .waits = {ppx::Wait(queues[1 - which], 1)};
  program.step(queues[0]);
  SessionOptions options;
  options.hangTimeoutSeconds = 0.2;
  auto created = Session::create(share(builder), options);
  ASSERT_TRUE(created.ok()) << created.status().message();
  ASSERT_TRUE((*created)->begin().ok());
  EXPECT_EQ((*created)->step().code(), ExitCode::hang);
  EXPECT_FALSE((*created)->isStuck());
}

TEST(Failures, AStuckSessionTellsNothing) {
  entered = released = false;
  ArtifactBuilder builder;
  const uint32_t parameter = builder.argument("w", ppx::Role_param, 4);
  const uint32_t input = builder.argument("x", ppx::Role_input, 4);
  ProgramBuilder program = builder.program({0});
  const uint32_t queue = program.queue("compute");
  const uint32_t w = program.slot("w", 4), x = program.slot("x", 4);
  builder.hold(parameter, w);
  program.begin(Section::body);
  program.load(queue, input, x);
  program.run(queue, {}, {}, {w});
  program.step(queue);
  SessionOptions options;
  options.resolver = resolveHang;
  Square square(1);
  options.world = std::make_shared<ThreadWorld>(square, 0);
  auto created = Session::create(share(builder), options);
  ASSERT_TRUE(created.ok()) << created.status().message();
  Session &session = **created;
  float values[4] = {};
  {
    // The session keeps what the kernel may still read.
    std::vector<float> batch(4, 1.0f);
    ASSERT_TRUE(session.setInput(input, batch.data(), 16).ok());
  }
  ASSERT_TRUE(session.initialize(1).ok());
  ASSERT_TRUE(session.begin().ok());
  // Other calls fail while it is inside the kernel.
  const auto others = std::async(std::launch::async, [&] {
    while (!entered)
      std::this_thread::sleep_for(milliseconds(1));
    square.hub(0)->abort(Status(ExitCode::rankDied, "elsewhere"));
  });
  EXPECT_EQ(session.step().code(), ExitCode::rankDied);
  ASSERT_TRUE(session.isStuck());
  EXPECT_EQ(session.initialize(1).code(), ExitCode::hang);
  EXPECT_EQ(session.getArgument(parameter, values, 16).code(), ExitCode::hang);
  EXPECT_EQ(session.setArgument(parameter, values, 16).code(), ExitCode::hang);
  EXPECT_EQ(session.setInput(input, values, 16).code(), ExitCode::hang);
  EXPECT_EQ(session.step().code(), ExitCode::rankDied);
  created->reset();
  release();
}

} // namespace
