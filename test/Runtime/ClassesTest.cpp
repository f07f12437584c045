//===- ClassesTest.cpp - ranks that no check can tell apart ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The checks find the same with one speaker per class as with all ranks, in
// valid programs, and in programs with an error on one rank or on all that
// share a program.
//
//===----------------------------------------------------------------------===//
#include "Mutations.h"
#include "Pipelines.h"
#include "lib/Checks/Passes.h"

#include <gtest/gtest.h>

using namespace pprt;
using namespace pprt::test;

namespace {

struct Verdict {
  bool matches = false, ends = false;
  bool operator==(const Verdict &other) const {
    return matches == other.matches && ends == other.ends;
  }
};

Verdict judge(const Ranks &ranks, const RankClasses &classes) {
  uint64_t operations = 0;
  checks::FindingList mismatches(FindingKind::mismatch, operations);
  checks::FindingList deadlocks(FindingKind::deadlock, operations);
  const auto matched = matchCommunication(ranks, classes, mismatches);
  if (!mismatches.empty())
    return {false, false};
  checkDeadlock(ranks, classes, matched, deadlocks);
  return {true, deadlocks.empty()};
}

/// Exchanges two instructions of a program, on all ranks that run it.
void exchange(ppx::ArtifactT &artifact, std::mt19937_64 &random) {
  ppx::ProgramT &program =
      *artifact.programs[random() % artifact.programs.size()];
  WrittenList &list = writtenOf(program, Section::body);
  const size_t count = list.size() - 1; // the step stays last
  if (count > 1)
    std::swap(list[random() % count], list[random() % count]);
}

} // namespace

TEST(Classes, JudgeAsAllRanksDo) {
  int fewer = 0, unmatched = 0, stuck = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    PipelineShape shape = randomShape(random);
    shape.replicas = 2 + uint32_t(random() % 3);
    ppx::ArtifactT artifact = makePipeline(shape);
    if (seed % 3 == 1)
      exchange(artifact, random);
    else if (seed % 3 == 2)
      Mutator(artifact, random).apply(Mutation(random() % kMutations));
    if (!checkStructure(artifact).ok())
      continue;
    const Expected<Mesh> mesh = Mesh::create(artifact.axes);
    ASSERT_TRUE(mesh);
    const Ranks ranks(artifact, *mesh);
    uint64_t operations = 0;
    const RankClasses classes = RankClasses::coarsest(ranks, operations);
    const Verdict verdict = judge(ranks, classes);
    ASSERT_TRUE(verdict == judge(ranks, RankClasses::apart(ranks)))
        << "seed " << seed;
    if (classes.speakers().size() == mesh->worldSize())
      continue;
    ++fewer;
    unmatched += !verdict.matches;
    stuck += verdict.matches && !verdict.ends;
  }
  // Enough cases were tried.
  EXPECT_GT(fewer, 1000);
  EXPECT_GT(unmatched, 100);
  EXPECT_GT(stuck, 30);
}

// A rank differs from others of its program by the ranks it meets, or by those
// that these meet, and so on to the last stage.
TEST(Classes, TellRanksApartByWhomTheyMeet) {
  for (uint32_t stages : {3, 7}) {
    PipelineShape shape;
    shape.stages = stages;
    shape.replicas = 4;
    ppx::ArtifactT artifact = makePipeline(shape);
    const Expected<Mesh> mesh = Mesh::create(artifact.axes);
    ASSERT_TRUE(mesh);
    const auto count = [&] {
      uint64_t operations = 0;
      const Ranks ranks(artifact, *mesh);
      return RankClasses::coarsest(ranks, operations).speakers().size();
    };
    EXPECT_EQ(count(), stages);
    // All ranks of its replica differ; in the others, each stage is one class.
    makePrivateProgram(artifact, 0);
    EXPECT_EQ(count(), 2 * stages);
  }
}

// Any number of replicas takes as much as a few, and a few steps for each. (A
// single one has a queue less, as it meets no other.)
TEST(Classes, CostReplicasTheirMembership) {
  const auto operations = [](uint32_t microBatches, uint32_t replicas) {
    PipelineShape shape;
    shape.stages = 4;
    shape.microBatches = microBatches;
    shape.replicas = replicas;
    const CheckResult result = checkArtifact(makePipeline(shape));
    EXPECT_TRUE(result.ok()) << result.status().message();
    return int64_t(result.operations);
  };
  const int64_t few = operations(4, 512) - operations(4, 64);
  const int64_t many = operations(64, 512) - operations(64, 64);
  EXPECT_LT(few, 512 * 4 * 64);
  EXPECT_LT(many, few + few / 10);
}
