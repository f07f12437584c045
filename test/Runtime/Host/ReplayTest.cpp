//===- ReplayTest.cpp - few ranks play for all ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A replay of one rank of each class equals a replay of all ranks.
//
//===----------------------------------------------------------------------===//
#include "Pipelines.h"
#include "pprt/Checks.h"
#include "pprt/RankTimes.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace pprt;
using namespace pprt::test;

namespace {

struct Played {
  uint32_t players = 0;
  double end = 0;
  RankTimes times;
};

/// Durations depend on the program only.
Played play(const ppx::ArtifactT &artifact, const Mesh &mesh, bool all) {
  const Players players =
      all ? Players::ranks(artifact, mesh) : Players::classes(artifact, mesh);
  const auto timeline = replay(players, [&](Place place) {
    const ppx::ProgramT &program = players.program(place.player);
    const auto index =
        std::find_if(artifact.programs.begin(), artifact.programs.end(),
                     [&](const auto &each) { return each.get() == &program; });
    return double(
        1 +
        (place.index * 7 + size_t(index - artifact.programs.begin()) * 5) % 11);
  });
  Played result;
  result.players = players.size();
  EXPECT_TRUE(timeline.has_value());
  if (!timeline)
    return result;
  for (const std::vector<Span> &spans : *timeline)
    for (const Span &span : spans)
      result.end = std::max(result.end, span.end);
  result.times = meanTimes(players, timesOfPlayers(players, *timeline));
  return result;
}

void expectEqual(const ppx::ArtifactT &artifact, uint32_t players) {
  ASSERT_TRUE(checkArtifact(artifact).ok());
  const Expected<Mesh> mesh = Mesh::create(artifact.axes);
  ASSERT_TRUE(mesh);
  const Played all = play(artifact, *mesh, true);
  const Played few = play(artifact, *mesh, false);
  EXPECT_EQ(few.players, players);
  EXPECT_EQ(few.end, all.end);
  EXPECT_NEAR(*few.times.bubble(), *all.times.bubble(), 1e-9);
  EXPECT_NEAR(few.times.exposed, all.times.exposed, 1e-9);
  EXPECT_NEAR(few.times.hidden, all.times.hidden, 1e-9);
}

PipelineShape shapeOf(uint32_t stages, uint32_t replicas) {
  PipelineShape shape;
  shape.stages = stages;
  shape.replicas = replicas;
  shape.microBatches = 3;
  return shape;
}

} // namespace

TEST(Replay, OneRankPlaysForItsProgram) {
  expectEqual(makePipeline(shapeOf(3, 4)), 3);
}

// The replicas of the other stages meet that rank, or ranks that do.
TEST(Replay, RanksOfOneProgramThatMeetDifferentOnes) {
  for (uint32_t rank = 0; rank < 6; ++rank) {
    SCOPED_TRACE(rank);
    ppx::ArtifactT artifact = makePipeline(shapeOf(2, 3));
    makePrivateProgram(artifact, rank);
    // Others of its stage, of the other stage, and the ranks it meets there.
    expectEqual(artifact, 4);
  }
}

TEST(Replay, OfManyShapes) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    ppx::ArtifactT artifact = makePipeline(randomShape(random));
    const Expected<Mesh> mesh = Mesh::create(artifact.axes);
    makePrivateProgram(artifact, uint32_t(random() % mesh->worldSize()));
    expectEqual(artifact, Players::classes(artifact, *mesh).size());
  }
}

// Two ranks of one second each, one after the other: as much idle as busy time.
// The bubble of all counts a rank that computes nothing; its own is none.
TEST(RankTimes, BubbleIsIdleOverBusyTime) {
  ppx::ArtifactT artifact = makePipeline(shapeOf(2, 1));
  const Expected<Mesh> mesh = Mesh::create(artifact.axes);
  ASSERT_TRUE(mesh);
  const Players players = Players::ranks(artifact, *mesh);
  struct {
    double seconds[2];
    std::optional<double> bubbles[2], whole;
  } const cases[] = {{{1, 3}, {3, 1. / 3}, 1},
                     {{0, 2}, {std::nullopt, 0}, 1},
                     {{0, 0}, {std::nullopt, std::nullopt}, std::nullopt}};
  for (const auto &its : cases) {
    Timeline timeline(2);
    double begin = 0;
    for (uint32_t rank = 0; rank < 2; ++rank) {
      // The first kernel takes all of the rank's time.
      bool isFirst = true;
      for (const Instruction instruction : players.body(rank)) {
        const bool takes = instruction->opcode == ppx::Opcode_run &&
                           std::exchange(isFirst, false);
        const double end = begin + (takes ? its.seconds[rank] : 0);
        timeline[rank].push_back({begin, end});
        begin = end;
      }
    }
    const std::vector<RankTimes> times = timesOfPlayers(players, timeline);
    for (uint32_t rank = 0; rank < 2; ++rank)
      EXPECT_EQ(times[rank].bubble(), its.bubbles[rank]);
    EXPECT_EQ(meanTimes(players, times).bubble(), its.whole);
  }
}
