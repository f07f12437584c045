//===- NullTest.cpp - the device that computes nothing --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Compares its counters with the program, and tests that it detects violations
// of a transport's rules.
//
//===----------------------------------------------------------------------===//
#include "Pipelines.h"
#include "ProgramBuilder.h"

#include "backends/Backends.h"
#include "pprt/Checks.h"
#include "pprt/Communication.h"
#include "pprt/Session.h"
#include "pprt/World.h"

#include <gtest/gtest.h>

#include <map>

using namespace pprt;
using namespace pprt::test;

namespace {

using Counts = std::map<std::string, uint64_t>;

Counts countsOf(const Session &session) {
  Counts counts;
  for (const NamedCount &count : session.counters())
    counts[count.name] = count.value;
  return counts;
}

Counts predict(const ppx::ArtifactT &artifact, uint64_t steps) {
  const Mesh mesh = *Mesh::create(artifact.axes);
  Counts counts = {{"launches", 0},
                   {"copies", 0},
                   {"flags", 0},
                   {"comm ops", 0},
                   {"bytes", 0}};
  const Ranks ranks(artifact, mesh);
  for (uint32_t rank = 0; rank < mesh.worldSize(); ++rank)
    for (Section section : kSections)
      for (const Instruction instruction : ranks.instructions(rank, section)) {
        const uint64_t times = section == Section::body ? steps : 1;
        const ppx::Opcode opcode = instruction->opcode;
        const bool isLaunch =
            opcode == ppx::Opcode_run || opcode == ppx::Opcode_gate;
        const bool meets = opcode == ppx::Opcode_send ||
                           opcode == ppx::Opcode_recv ||
                           opcode == ppx::Opcode_collective;
        counts["launches"] += isLaunch ? times : 0;
        counts["copies"] += opcode == ppx::Opcode_copy ? times : 0;
        counts["flags"] += opcode == ppx::Opcode_flag ? times : 0;
        counts["comm ops"] += meets ? times : 0;
        counts["bytes"] += times * sentBytes(ranks, rank, instruction);
      }
  return counts;
}

std::unique_ptr<Session> open(std::shared_ptr<const ppx::ArtifactT> artifact) {
  SessionOptions options;
  options.device = "null";
  auto created = Session::create(std::move(artifact), options);
  EXPECT_TRUE(created.ok()) << created.status().message();
  return created ? std::move(*created) : nullptr;
}

TEST(Null, CountsWhatTheProgramSays) {
  std::mt19937_64 random(1);
  for (uint32_t variant = 0; variant < 20; ++variant) {
    auto artifact = std::make_shared<const ppx::ArtifactT>(
        makePipeline(randomShape(random)));
    ASSERT_TRUE(checkArtifact(*artifact).ok());
    std::unique_ptr<Session> session = open(artifact);
    ASSERT_TRUE(session);
    for (const auto &[name, count] : countsOf(*session))
      EXPECT_EQ(count, 0u) << name;
    ASSERT_TRUE(session->begin().ok());
    for (int step = 0; step < 3; ++step)
      ASSERT_TRUE(session->step().ok());
    ASSERT_TRUE(session->end().ok());
    EXPECT_EQ(countsOf(*session), predict(*artifact, 3)) << variant;
  }
}

// Any access to its memory would end the test.
TEST(Null, HasNoValues) {
  ArtifactBuilder builder;
  const uint32_t parameter = builder.argument("w", ppx::Role_param, 4);
  const uint32_t input = builder.argument("x", ppx::Role_input, 4);
  const uint32_t output = builder.output("y", 4);
  builder.emits(output, 0);
  ProgramBuilder program = builder.program({0});
  const uint32_t queue = program.queue("compute");
  const uint32_t w = program.slot("w", 4), x = program.slot("x", 4);
  // More than a machine has, and no more than the thread sanitizer maps.
  program.get().arena_bytes = uint64_t(1) << 42;
  builder.hold(parameter, w);
  program.begin(Section::body);
  program.load(queue, input, x);
  program.run(queue, {x}, {}, {w});
  program.emit(queue, output, w);
  program.step(queue);
  std::unique_ptr<Session> session =
      open(std::make_shared<const ppx::ArtifactT>(builder.take()));
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->initialize(1).ok());
  float values[4] = {1, 2, 3, 4};
  EXPECT_TRUE(session->setArgument(parameter, values, 16).ok());
  EXPECT_TRUE(session->setInput(input, values, 16).ok());
  EXPECT_TRUE(session->begin().ok());
  EXPECT_TRUE(session->step().ok());
  EXPECT_EQ(session->getArgument(parameter, values, 16).code(),
            ExitCode::usage);
  EXPECT_EQ(values[2], 3); // unchanged
  EXPECT_EQ(session->measuredPeakBytes(0), 0u);
  EXPECT_EQ(countsOf(*session)["launches"], 1u);
}

TEST(Null, TellsThatAProgramDoesNotEnd) {
  // Each rank waits for a message that the other sends afterwards.
  ArtifactBuilder builder;
  builder.axis("pp", 2, ppx::AxisKind_stage);
  for (uint32_t stage = 0; stage < 2; ++stage) {
    ProgramBuilder program = builder.program({stage}, stage);
    const uint32_t queue = program.queue("all");
    const uint32_t slot = program.slot("x", 4);
    program.begin(Section::body);
    program.recv(queue, 1 - stage, slot);
    program.send(queue, 1 - stage, slot);
    program.step(queue);
  }
  auto artifact = std::make_shared<const ppx::ArtifactT>(builder.take());
  SessionOptions options;
  options.device = "null";
  options.hangTimeoutSeconds = 0.3;
  auto session = Session::create(artifact, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  ASSERT_TRUE((*session)->begin().ok());
  const Status status = (*session)->step();
  EXPECT_EQ(status.code(), ExitCode::hang);
  EXPECT_NE(status.message().find("wait-for: 0 -> 1 -> 0"), std::string::npos)
      << status.message();
}

TEST(Null, IsAskedForByName) {
  SessionOptions options;
  options.device = "abacus";
  const auto session = Session::create(
      std::make_shared<const ppx::ArtifactT>(makePipeline({})), options);
  EXPECT_EQ(session.status().code(), ExitCode::usage);
  EXPECT_NE(
      session.status().message().find("cpu or cuda or null, got 'abacus'"),
      std::string::npos)
      << session.status().message();
}

//===----------------------------------------------------------------------===//
// Its transport's checks
//===----------------------------------------------------------------------===//

/// Completes every comm op at once, and moves nothing.
class Hasty final : public PolledTransport {
public:
  Expected<Ticket> prepare(Participant) override { return count++; }
  Status connect() override { return {}; }
  void start(Ticket, uint64_t) override {}
  bool ready(Ticket, uint64_t) override { return true; }
  Progress test(Ticket, uint64_t) override { return Progress::complete; }
  Status poll() override { return failure; }
  void abort(const Status &status) override { failure = status; }

private:
  Ticket count = 0;
  Status failure;
};

class HastyWorld final : public World {
public:
  uint32_t process() const override { return 0; }
  uint32_t processCount() const override { return 1; }
  Status broadcast(std::vector<std::byte> &) override { return {}; }
  Expected<std::vector<std::vector<std::byte>>>
  gather(std::vector<std::byte> mine) override {
    return std::vector<std::vector<std::byte>>{mine};
  }
  Verdict agree(const Status &mine, uint32_t votes) override {
    return {mine, votes};
  }
  Expected<std::unique_ptr<PolledTransport>> transport(uint32_t) override {
    return std::unique_ptr<PolledTransport>(std::make_unique<Hasty>());
  }
  [[noreturn]] void abort(const Status &) override { std::abort(); }
};

/// Two comm ops at one place, of ranks 0 and 1; this is member 0.
struct CommOps {
  explicit CommOps(World &world) {
    transport = std::move(*device->transport(world, 2));
    for (uint32_t commOp = 0; commOp < 2; ++commOp) {
      Participant p;
      p.section = Section::body;
      p.commOp = commOp;
      p.ranks = {0, 1};
      p.moves = std::make_shared<const std::vector<Move>>(movesOfTransfer(16));
      tickets.push_back(*transport->prepare(p));
    }
  }
  std::unique_ptr<PolledDevice> device = null::makeDevice();
  std::unique_ptr<PolledTransport> transport;
  std::vector<Ticket> tickets;
};

TEST(Null, SeesAMemberOfAnotherRound) {
  HastyWorld world;
  CommOps commOps(world);
  PolledTransport &transport = *commOps.transport;
  transport.start(commOps.tickets[0], 0);
  EXPECT_TRUE(transport.poll().ok());
  // No other member has come.
  EXPECT_EQ(transport.test(commOps.tickets[0], 0), Progress::pending);
  EXPECT_NE(transport.poll().message().find("same round"), std::string::npos);
}

TEST(Null, SeesCommOpsOutOfOrder) {
  HastyWorld world;
  CommOps second(world);
  second.transport->start(second.tickets[1], 0);
  EXPECT_NE(second.transport->poll().message().find("the one before it"),
            std::string::npos);
  CommOps twice(world);
  twice.transport->start(twice.tickets[0], 0);
  twice.transport->start(twice.tickets[0], 0);
  EXPECT_NE(twice.transport->poll().message().find("once a round"),
            std::string::npos);
}

} // namespace
