//===- StagingTest.cpp - memory for messages, behind the arenas -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each queue of a rank has its own area, as large as the largest of its comm
// ops needs in any section, behind the arena and disjoint from the others.
//
//===----------------------------------------------------------------------===//
#include "ProgramBuilder.h"

#include "engine/LocalRank.h"
#include "pprt/Mesh.h"

#include <gtest/gtest.h>

using namespace pprt;
using namespace pprt::test;

namespace {

constexpr uint64_t kArena = 1000;

/// Two ranks, which add up 400 and 12 bytes on a queue, 40 on another.
ppx::ArtifactT makeProgram() {
  ArtifactBuilder builder;
  const uint32_t group = builder.group({builder.axis("dp", 2)});
  ProgramBuilder program = builder.program({0, 1});
  const uint32_t compute = program.queue("compute");
  const uint32_t first = program.queue("first");
  const uint32_t second = program.queue("second");
  const auto reduce = [&](uint32_t queue, uint64_t elements) {
    const uint32_t slot = program.slot("x", elements);
    program.collective(queue, ppx::CollectiveKind_all_reduce, group, {slot},
                       {slot});
  };
  program.begin(Section::setup);
  reduce(first, 100);
  program.begin(Section::body);
  reduce(first, 3);
  reduce(second, 10);
  program.step(compute);
  program.get().arena_bytes = kArena;
  return builder.take();
}

class StagingTest : public testing::Test {
protected:
  /// Member 1 needs twice the bytes that are added up, member 0 only once.
  std::vector<Staging> layOut(RankRange range, bool needsAny = true) {
    TransportModel model;
    if (needsAny)
      model.stagingBytes = [](const std::vector<Move> &moves,
                              const std::vector<uint32_t> &, uint32_t member) {
        return (member + 1) * moves[0].region.run *
               elementSize(moves[0].element);
      };
    return layOutStaging(ranks, range, model);
  }

  const ppx::ArtifactT artifact = makeProgram();
  const Expected<Mesh> mesh = Mesh::create(artifact.axes);
  const Ranks ranks{artifact, *mesh};
};

TEST_F(StagingTest, EachQueueHasAnAreaOfItsOwn) {
  const std::vector<Staging> staging = layOut({0, 2});
  ASSERT_EQ(staging.size(), 2u);
  for (uint64_t rank : {0, 1}) {
    const Staging &its = staging[rank];
    ASSERT_EQ(its.offsets.size(), 3u);
    for (uint64_t offset : its.offsets) {
      EXPECT_GE(offset, kArena);
      EXPECT_EQ(offset % 256, 0u);
    }
    EXPECT_GE(its.offsets[2], its.offsets[1] + (rank + 1) * 400);
    EXPECT_GE(its.end, its.offsets[2] + (rank + 1) * 40);
    // And no more than that, apart from alignment.
    EXPECT_LE(its.end, kArena + (rank + 1) * 440 + 3 * 255);
  }
}

TEST_F(StagingTest, IsOfTheRanksAtHand) {
  const std::vector<Staging> both = layOut({0, 2}), last = layOut({1, 2});
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].offsets, both[1].offsets);
  EXPECT_EQ(last[0].end, both[1].end);
}

TEST_F(StagingTest, IsNoneWhereMembersReachEachOther) {
  for (const Staging &its : layOut({0, 2}, false))
    EXPECT_EQ(its.end, kArena);
}

} // namespace
