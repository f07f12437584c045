//===- ChecksTest.cpp - each check on the smallest programs ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The smallest programs that show each rule.
//
//===----------------------------------------------------------------------===//
#include "OneRank.h"
#include "Pipelines.h"

#include <thread>

using namespace pprt;
using namespace pprt::test;

static std::string messageOf(const ppx::ArtifactT &artifact) {
  return checkArtifact(artifact).status().message();
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

namespace {
using Race = OneRank;
} // namespace

TEST_F(Race, AReadBesideAWrite) {
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  program.run(main, {}, {x});
  program.run(side, {x}, {y});
  EXPECT_EQ(check(), "rank 0, body #1 '0P run': reads 'x' in queue 'side'; "
                     "expects to be ordered with rank 0, body #0 '0P run', "
                     "which writes 'x' in queue 'main', got no wait between "
                     "them");
}

TEST_F(Race, AWaitOrdersThem) {
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  program.run(main, {}, {x});
  program.run(side, {x}, {y}).waits = {program.after(main)};
  EXPECT_EQ(check(), "");
}

TEST_F(Race, AWriteBesideARead) {
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  program.run(main, {}, {x});
  program.run(side, {x}, {y}).waits = {program.after(main)};
  program.run(main, {}, {x});
  EXPECT_EQ(check(), "rank 0, body #1 '0P run': reads 'x' in queue 'side'; "
                     "expects to be ordered with rank 0, body #2 '0P run', "
                     "which writes 'x' in queue 'main', got no wait between "
                     "them");
}

TEST_F(Race, TwoReadsAreNone) {
  const uint32_t x = program.slot("x", 4);
  const uint32_t y = program.slot("y", 4), z = program.slot("z", 4);
  program.run(main, {}, {x});
  program.run(side, {x}, {y}).waits = {program.after(main)};
  program.run(main, {x}, {z});
  EXPECT_EQ(check(), "");
}

TEST_F(Race, IsAboutBytesAndNotAboutSlots) {
  const uint32_t whole = program.slot("whole", 32);
  const uint32_t tail = program.slotAt(64, "tail", 4);
  const uint32_t apart = program.slotAt(128, "apart", 4);
  program.run(main, {}, {whole});
  program.run(side, {}, {apart});
  program.run(side, {}, {tail});
  EXPECT_EQ(check(),
            "rank 0, body #2 '0P run': writes 'tail' in queue 'side'; expects "
            "to be ordered with rank 0, body #0 '0P run', which writes "
            "'whole' in queue 'main', got no wait between them");
}

TEST_F(Race, OrderPassesThroughAThirdQueue) {
  const uint32_t third = program.queue("third");
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  const uint32_t z = program.slot("z", 4);
  program.run(main, {}, {x});
  program.run(third, {}, {y}).waits = {program.after(main)};
  program.run(side, {y, x}, {z}).waits = {program.after(third)};
  EXPECT_EQ(check(), "");
}

// List order does not order different queues: here the reader comes first in
// the list, and the writer it waits for later.
TEST_F(Race, ListOrderOrdersOneQueueOnly) {
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  program.run(side, {x}, {y}).waits = {ppx::Wait(main, 1)};
  program.run(main, {}, {x});
  EXPECT_EQ(check(), "");
}

// More than are handled at a time.
TEST_F(Race, OfManyQueues) {
  std::vector<uint32_t> queues(20);
  for (uint32_t &queue : queues)
    queue = program.queue("further");
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  for (uint32_t queue : queues) // so that all are in use
    program.run(queue, {}, {program.slot("own", 4)});
  program.run(queues[1], {}, {x});
  program.run(queues[18], {}, {y}).waits = {program.after(queues[1])};
  program.run(queues[9], {x, y}, {}).waits = {program.after(queues[18])};
  program.run(queues[0], {y}, {}).waits = {program.after(queues[1])};
  program.run(queues[19], {x}, {}).waits = {program.after(queues[18])};
  program.run(queues[10], {}, {x}).waits = {program.after(queues[19])};
  EXPECT_EQ(check(),
            "rank 0, body #23 '0P run': reads 'y' in queue 'further'; expects "
            "to be ordered with rank 0, body #21 '0P run', which writes 'y' in "
            "queue 'further', got no wait between them\n"
            "rank 0, body #25 '0P run': writes 'x' in queue 'further'; expects "
            "to be ordered with rank 0, body #22 '0P run', which reads 'x' in "
            "queue 'further', got no wait between them");
}

TEST_F(Race, SectionsFollowEachOther) {
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  program.run(main, {}, {x});
  program.step(main);
  program.begin(Section::teardown);
  program.run(side, {x}, {y});
  EXPECT_EQ(messageOf(artifact.take()), "");
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

namespace {

/// Stages 0 and 1, each a program of two replicas; group 0 joins the replicas.
ppx::ArtifactT twoStages() {
  PipelineShape shape;
  shape.replicas = 2;
  return makePipeline(shape);
}

/// The first instruction with `opcode` in the body of program `index`.
ppx::InstructionT &first(ppx::ArtifactT &artifact, uint32_t index,
                         ppx::Opcode opcode) {
  for (const auto &instruction :
       writtenOf(*artifact.programs[index], Section::body))
    if (instruction->opcode == opcode)
      return *instruction;
  return *writtenOf(*artifact.programs[index], Section::body).front();
}

} // namespace

TEST(Matching, ATransferIsNamedAlikeOnBothSides) {
  ppx::ArtifactT artifact = twoStages();
  first(artifact, 0, ppx::Opcode_send).micro_batch = 1;
  CheckResult result = checkArtifact(artifact);
  // It also sends what is not of its micro-batch.
  ASSERT_EQ(result.findings.size(), 3u);
  EXPECT_EQ(result.findings[0].kind, FindingKind::clobber);
  result.findings.erase(result.findings.begin());
  ASSERT_EQ(result.findings.size(), 2u); // one per replica
  EXPECT_EQ(result.findings[0].kind, FindingKind::mismatch);
  EXPECT_EQ(result.findings[0].message,
            "rank 0, body #4 '0F1 send': expects to meet 0F1, 48 bytes f32; "
            "got rank 2, body #2 '0F0 recv' with 0F0, 48 bytes f32");
  EXPECT_EQ(result.status().code(), ExitCode::checkFailed);
}

TEST(Matching, PhaseStageBytesAndElementsMatter) {
  using Written = ppx::InstructionT;
  for (auto breakIt : std::initializer_list<void (*)(Written &)>{
           [](Written &i) { i.phase = ppx::Phase_backward; },
           [](Written &i) { i.stage = 1; },
           [](Written &i) { i.micro_batch = 1; },
           // The flag is four bytes, the output forty-eight.
           [](Written &i) { i.arguments = {11}; }}) {
    ppx::ArtifactT artifact = twoStages();
    breakIt(first(artifact, 0, ppx::Opcode_send));
    EXPECT_TRUE(checkArtifact(artifact).has(FindingKind::mismatch));
  }
  ppx::ArtifactT artifact = twoStages();
  const uint32_t slot = first(artifact, 1, ppx::Opcode_recv).arguments[0];
  artifact.programs[1]->slots[slot]->element = ppx::ElementType_i32;
  EXPECT_TRUE(checkArtifact(artifact).has(FindingKind::mismatch));
}

TEST(Matching, EverySendHasAReceive) {
  ppx::ArtifactT artifact = twoStages();
  writtenOf(*artifact.programs[0], Section::teardown)
      .push_back(std::make_unique<ppx::InstructionT>(
          first(artifact, 0, ppx::Opcode_send)));
  writtenOf(*artifact.programs[0], Section::teardown).back()->waits.clear();
  EXPECT_EQ(checkArtifact(artifact).findings.back().message,
            "rank 1, teardown #2 '0F0 send': expects a partner on the edge "
            "from rank 1 to rank 3; got 1 sends and 0 receives in the "
            "teardown");
}

// Both receive the same number of bytes, but of other places.
TEST(Matching, MembersOfAGroupSplitTheSameDimension) {
  ArtifactBuilder builder;
  builder.group({builder.axis("dp", 2)});
  for (uint32_t rank : {0, 1}) {
    ProgramBuilder program = builder.program({rank});
    const uint32_t queue = program.queue("main");
    const uint32_t x = program.slot("x", 16), y = program.slot("y", 16);
    program.get().slots[x]->shape = {4, 4};
    program.get().slots[y]->shape =
        rank == 0 ? std::vector<uint64_t>{2, 8} : std::vector<uint64_t>{4, 4};
    program.begin(Section::body);
    program.run(queue, {}, {x});
    ppx::InstructionT &exchange =
        program.collective(queue, ppx::CollectiveKind_all_to_all, 0, {x}, {y});
    exchange.dimensions = {1};
    exchange.split_dimensions = {rank};
    program.step(queue);
  }
  const ppx::ArtifactT artifact = builder.take();
  EXPECT_TRUE(checkStructure(artifact).ok())
      << checkStructure(artifact).status().message();
  EXPECT_EQ(messageOf(artifact),
            "rank 0, body #1 '0P collective': expects to meet 0P all_to_all "
            "dimension 1 split 0, 64 bytes f32, 64 bytes f32; got rank 1, body "
            "#1 '0P collective' with 0P all_to_all dimension 1 split 1, 64 "
            "bytes f32, 64 bytes f32");
}

TEST(Matching, MembersOfAGroupDoTheSame) {
  ppx::ArtifactT artifact = twoStages();
  ppx::ProgramT &other = *artifact.programs[makePrivateProgram(artifact, 1)];
  for (const auto &instruction : writtenOf(other, Section::body))
    if (instruction->opcode == ppx::Opcode_collective)
      instruction->reduction = ppx::Reduction_max;
  EXPECT_EQ(messageOf(artifact),
            "rank 0, body #12 '0U collective': expects to meet 0U all_reduce "
            "sum, 192 bytes f32, 192 bytes f32; got rank 1, body #12 '0U "
            "collective' with 0U all_reduce max, 192 bytes f32, 192 bytes f32");
}

TEST(Matching, NoMemberIsMissing) {
  ppx::ArtifactT artifact = twoStages();
  ppx::ProgramT &other = *artifact.programs[makePrivateProgram(artifact, 1)];
  writtenOf(other, Section::setup).pop_back();
  EXPECT_EQ(messageOf(artifact),
            "rank 0, setup #1 '0P collective': expects all 4 members of "
            "the group; got 3, as the other ranks have fewer collectives in "
            "the setup");
}

//===----------------------------------------------------------------------===//
// Deadlock
//===----------------------------------------------------------------------===//

using Deadlock = OneRank;

TEST_F(Deadlock, AnInstructionThatWaitsForItself) {
  const uint32_t x = program.slot("x", 4);
  program.run(main, {}, {x}).waits = {ppx::Wait(main, 1)};
  EXPECT_EQ(check(),
            "rank 0, body #0 '0P run': never completes: a cycle of waits\n"
            "    it comes after rank 0, body #0 '0P run'");
}

TEST_F(Deadlock, TwoQueuesThatWaitForEachOther) {
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  program.run(main, {}, {x}).waits = {ppx::Wait(side, 1)};
  program.run(side, {}, {y}).waits = {ppx::Wait(main, 1)};
  EXPECT_EQ(check(),
            "rank 0, body #0 '0P run': never completes: a cycle of waits\n"
            "    it waits for rank 0, body #1 '0P run'\n"
            "    which waits for rank 0, body #0 '0P run'");
}

// A step completes after everything else of its body.
TEST_F(Deadlock, AnInstructionThatWaitsForTheStep) {
  const uint32_t x = program.slot("x", 4);
  program.run(side, {}, {x}).waits = {ppx::Wait(main, 1)};
  EXPECT_EQ(check(),
            "rank 0, body #0 '0P run': never completes: a cycle of waits\n"
            "    it waits for rank 0, body #1 '0U step'\n"
            "    which waits for rank 0, body #0 '0P run'");
}

// Two groups, entered in opposite order by ranks that share both.
TEST(DeadlockOfRanks, CollectivesInOppositeOrder) {
  ArtifactBuilder artifact;
  const uint32_t axis = artifact.axis("dp", 2);
  const uint32_t a = artifact.group({axis}), b = artifact.group({axis});
  for (uint32_t rank : {0, 1}) {
    ProgramBuilder program = artifact.program({rank});
    const uint32_t main = program.queue("main");
    const uint32_t x = program.slot("x", 4);
    program.begin(Section::body);
    program.run(main, {}, {x});
    program.collective(main, ppx::CollectiveKind_all_reduce, rank ? b : a, {x},
                       {x});
    program.collective(main, ppx::CollectiveKind_all_reduce, rank ? a : b, {x},
                       {x});
    program.step(main);
  }
  EXPECT_EQ(
      messageOf(artifact.take()),
      "rank 1, body #2 '0P collective': never completes: a cycle of waits\n"
      "    it comes after rank 1, body #1 '0P collective'\n"
      "    which meets rank 0, body #2 '0P collective'\n"
      "    which comes after rank 0, body #1 '0P collective'\n"
      "    which meets rank 1, body #2 '0P collective'");
}

//===----------------------------------------------------------------------===//
// Memory and cost
//===----------------------------------------------------------------------===//

// Wherever they are placed: they have no bytes.
TEST(Arguments, ParametersWithoutElementsOverlapNothing) {
  ArtifactBuilder builder;
  ProgramBuilder program = builder.program({0});
  for (auto [name, offset, elements] : {std::tuple("full", 0u, 32u),
                                        {"at its begin", 0u, 0u},
                                        {"within", 64u, 0u},
                                        {"behind", 128u, 0u},
                                        {"next", 128u, 4u}}) {
    const uint32_t argument = builder.argument(name, ppx::Role_param, elements);
    builder.hold(argument, program.slotAt(offset, name, elements));
  }
  program.begin(Section::body);
  program.step(program.queue("compute"));
  EXPECT_EQ(messageOf(builder.take()), "");
}

TEST(Memory, TheArenaFitsTheLimitOrIsRefused) {
  const ppx::ArtifactT artifact = twoStages();
  const uint64_t bytes = artifact.programs[0]->arena_bytes;
  CheckOptions options;
  options.memoryLimit = bytes;
  EXPECT_TRUE(checkArtifact(artifact, options).ok());
  options.memoryLimit = bytes - 1;
  const CheckResult result = checkArtifact(artifact, options);
  EXPECT_TRUE(result.has(FindingKind::memory));
  EXPECT_EQ(result.status().code(), ExitCode::outOfMemory);
  EXPECT_EQ(result.findings.front().message,
            "rank 0 (program 'program0') expects an arena within the memory "
            "limit of " +
                std::to_string(bytes - 1) + " bytes, got " +
                std::to_string(bytes) + " bytes");
}

// Checks are made in any order and on any threads; findings have that of
// programs.
TEST(SideBySide, FindsTheSameInTheSameOrder) {
  ppx::ArtifactT artifact = twoStages();
  for (const auto &program : artifact.programs)
    for (const auto &routine : program->routines)
      for (const auto &its : routine->instructions)
        its->waits.clear();
  CheckOptions options;
  options.forEach = [](size_t count, const std::function<void(size_t)> &visit) {
    std::vector<std::thread> threads;
    for (size_t i = count; i-- > 0;)
      threads.emplace_back(visit, i);
    for (std::thread &thread : threads)
      thread.join();
  };
  const CheckResult one = checkArtifact(artifact),
                    other = checkArtifact(artifact, options);
  EXPECT_GT(one.findings.size(), 1u);
  EXPECT_EQ(one.status().message(), other.status().message());
  EXPECT_EQ(one.operations, other.operations);
}
