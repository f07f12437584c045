//===- ScheduleSearchTest.cpp - what is found for larger steps ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Against the named schedules, against figures of the papers, and against the
// bound. PP_SEARCH_CASES=100 in the environment takes as many random pipelines
// for that, where a build takes fewer.
//
//===----------------------------------------------------------------------===//
#include "RandomPipelines.h"
#include "pp/Schedule/Algorithms.h"
#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace pp;

static bool keepsLimits(const ScheduleSearchProblem &problem,
                        const std::vector<int64_t> &bytes) {
  for (size_t position = 0; position < problem.limits.size(); ++position)
    if (bytes[position] > problem.limits[position])
      return false;
  return true;
}

/// The shortest of the named schedules that keep the limits.
static double shortestNamed(const ScheduleSearchProblem &problem,
                            unsigned chunks) {
  double least = std::numeric_limits<double>::infinity();
  schedule::ScheduleProblem sizes;
  sizes.ranks = problem.positions;
  sizes.microBatches = problem.microBatches;
  sizes.chunks = chunks;
  for (const schedule::Algorithm &algorithm : schedule::algorithms()) {
    std::string error;
    const auto named = schedule::generate(algorithm.name, sizes, error);
    for (const Placement &placement : problem.placements)
      if (named && schedule::stageRanks(*named) == placement.positionOf &&
          keepsLimits(problem, peakBytes(placement, *named)))
        least = std::min(
            least, schedule::simulate(*named, durationsOf(placement)).end);
  }
  return least;
}

static FoundSchedule search(const ScheduleSearchProblem &problem,
                            const SearchEffort &effort = {}) {
  std::string error;
  const auto found = searchSchedule(problem, error, effort);
  EXPECT_TRUE(found) << error;
  if (!found)
    return {};
  const Placement &placement = problem.placements[found->placement];
  EXPECT_TRUE(schedule::verify(found->schedule, error)) << error;
  EXPECT_EQ(schedule::stageRanks(found->schedule), placement.positionOf);
  EXPECT_EQ(schedule::simulate(found->schedule, durationsOf(placement)).end,
            found->seconds);
  EXPECT_EQ(peakBytes(placement, found->schedule), found->peakBytes);
  EXPECT_TRUE(keepsLimits(problem, found->peakBytes));
  EXPECT_LE(found->leastSeconds, found->seconds);
  EXPECT_EQ(found->schedule.name, "auto");
  return *found;
}

TEST(ScheduleSearch, IsNeverLongerThanNamedOnes) {
  SearchEffort little{1000, 100000};
  unsigned hadNamed = 0;
  for (unsigned number = 0; number < 24; ++number)
    for (unsigned chunks : {1u, 2u, 3u}) {
      SCOPED_TRACE(std::to_string(number) + " of chunks " +
                   std::to_string(chunks));
      const ScheduleSearchProblem problem = makePipeline(number, 4, 10, chunks);
      const double named = shortestNamed(problem, chunks);
      EXPECT_LE(search(problem, little).seconds, named);
      hadNamed += named < 1e9;
    }
  EXPECT_GE(hadNamed, 24u);
}

/// The median of the shares by which steps may be too long.
TEST(ScheduleSearch, IsCloseToItsBound) {
  const char *text = std::getenv("PP_SEARCH_CASES");
  const unsigned cases = text ? unsigned(std::atoi(text)) : 5;
  std::vector<double> gaps;
  for (unsigned number = 0; number < cases; ++number)
    gaps.push_back(search(makePipeline(number, 8, 32)).gap());
  std::sort(gaps.begin(), gaps.end());
  EXPECT_LE(gaps[cases / 2], 0.05);
  std::printf("gap of %u: median %.2f %%, at most %.2f %%\n", cases,
              100 * gaps[cases / 2], 100 * gaps.back());
}

/// What rules, moves and the beam find, against the best of all orders.
TEST(ScheduleSearch, FindsTheBestWithoutAllOrders) {
  double sum = 0, best = 0;
  unsigned same = 0;
  for (unsigned number = 0; number < 40; ++number) {
    const ScheduleSearchProblem problem = makePipeline(number, 4, 6);
    const FoundSchedule all = search(problem), some = search(problem, {0});
    EXPECT_TRUE(all.isOptimal);
    EXPECT_LE(all.seconds, some.seconds);
    sum += some.seconds;
    best += all.seconds;
    same += some.seconds <= all.seconds * (1 + 1e-9);
  }
  EXPECT_LE(sum, best * 1.0002);
  EXPECT_GE(same, 39u);
  std::printf("%u of 40 are the best, all take %.3f %% longer\n", same,
              100 * (sum / best - 1));
}

/// Figures of the zero bubble papers.
TEST(ScheduleSearch, OfUnitTimes) {
  ScheduleSearchProblem problem;
  problem.positions = 4;
  problem.microBatches = 8;
  problem.placements = {makeUnitPlacement(4)};
  // 1F1B takes 33 in this memory, ZB-H1 27 in a little more.
  problem.limits = {480, 480, 480, 480};
  FoundSchedule found = search(problem);
  EXPECT_EQ(found.seconds, 27);
  EXPECT_TRUE(found.isOptimal);
  // The last position has 24 to do, and the first micro-batch takes 3 to it.
  problem.limits.clear();
  found = search(problem);
  EXPECT_EQ(found.seconds, 27);
  EXPECT_TRUE(found.isOptimal);
  // With the memory of 1F1B at every position, weights' gradients included.
  problem.limits = {480, 360, 240, 120};
  found = search(problem);
  EXPECT_EQ(found.seconds, 30);
  EXPECT_TRUE(found.isOptimal);
  // Half the stages, half the way; the memory is that of 1F1B.
  problem.placements.push_back(makeUnitPlacement(4, 2));
  problem.limits = {480, 480, 480, 480};
  found = search(problem);
  EXPECT_EQ(found.placement, 1u);
  EXPECT_EQ(found.seconds, 25.5);
  // One at a time.
  problem.placements.pop_back();
  problem.limits = {120, 120, 120, 120};
  found = search(problem);
  EXPECT_EQ(found.peakBytes, problem.limits);
  EXPECT_GE(found.seconds, 8 * 8);
}

TEST(ScheduleSearch, RefusesLimitsThatNothingKeeps) {
  ScheduleSearchProblem problem;
  problem.positions = 3;
  problem.microBatches = 4;
  problem.placements = {makeUnitPlacement(3)};
  problem.limits = {120, 119, 500};
  std::string error;
  EXPECT_FALSE(searchSchedule(problem, error));
  EXPECT_NE(error.find("at least 120 bytes at position 1"), std::string::npos)
      << error;
  // What it names would do.
  problem.limits[1] = 120;
  EXPECT_EQ(search(problem).peakBytes[1], 120);
  // Two stages of a position hold their micro-batch at the same time.
  problem.placements = {makeUnitPlacement(3, 2)};
  problem.placements[0].loads[4].residualBytes = 100;
  problem.placements[0].loads[4].weightBytes = 100;
  EXPECT_FALSE(searchSchedule(problem, error));
  EXPECT_NE(error.find("at least 160 bytes at position 1"), std::string::npos)
      << error;
  problem.limits[1] = 160;
  search(problem);
}

/// Memory for one micro-batch, or little more.
TEST(ScheduleSearch, KeepsMemoryForWhatFreesIt) {
  SearchEffort little{1000, 200000};
  for (unsigned number = 0; number < 12; ++number)
    for (unsigned chunks : {1u, 2u, 3u})
      for (int64_t percent : {100, 115, 150, 210})
        search(makeTight(number, chunks, percent, /*countsWeights=*/false),
               little);
}

TEST(ScheduleSearch, FindsTheSameTwice) {
  const ScheduleSearchProblem problem = makePipeline(7, 4, 12, 2);
  const FoundSchedule first = search(problem), second = search(problem);
  EXPECT_EQ(first.schedule, second.schedule);
  EXPECT_EQ(first.orders, second.orders);
}

/// Not time, but what takes it: a large step tries few orders.
TEST(ScheduleSearch, BoundsItsWork) {
  const SearchEffort effort{0, 4000000};
  const ScheduleSearchProblem problem = makePipeline(1, 8, 1024);
  FoundSchedule found = search(problem, effort);
  EXPECT_LE(found.gap(), 0.05);
  EXPECT_LE(found.orders, 4000000u / (8 * 1024 * 2) + 10);
  EXPECT_EQ(found.nodes, 0u);
  // Without any, it is a named one or the leanest.
  found = search(problem, {0, 0});
  EXPECT_LE(found.seconds, shortestNamed(problem, 1));
}

TEST(ScheduleSearch, RefusesWhatIsNoProblem) {
  struct Case {
    const char *error;
    void (*spoil)(ScheduleSearchProblem &problem);
  };
  using Problem = ScheduleSearchProblem;
  const Case cases[] = {
      {"ranks", [](Problem &problem) { problem.positions = 0; }},
      {"micro-batches", [](Problem &problem) { problem.microBatches = 0; }},
      {"at least 1 placement",
       [](Problem &problem) { problem.placements = {}; }},
      {"limit for each of 2", [](Problem &problem) { problem.limits = {1}; }},
      {"position for each of 2 stages",
       [](Problem &problem) { problem.placements[0].positionOf.pop_back(); }},
      {"position below 2",
       [](Problem &problem) { problem.placements[0].positionOf[1] = 2; }},
      {"none at position 1",
       [](Problem &problem) { problem.placements[0].positionOf[1] = 0; }},
      {"at least 0 s",
       [](Problem &problem) {
         problem.placements[0].loads[1].weightSeconds = -1;
       }},
      {"at least 0 s",
       [](Problem &problem) {
         problem.placements[0].loads[1].sendForwardSeconds =
             std::numeric_limits<double>::quiet_NaN();
       }},
      {"residuals between 0",
       [](Problem &problem) {
         problem.placements[0].loads[0].residualBytes = -1;
       }},
  };
  for (const Case &example : cases) {
    ScheduleSearchProblem problem;
    problem.positions = problem.microBatches = 2;
    problem.placements = {makeUnitPlacement(2)};
    search(problem);
    example.spoil(problem);
    std::string error;
    EXPECT_FALSE(searchSchedule(problem, error)) << example.error;
    EXPECT_NE(error.find(example.error), std::string::npos) << error;
  }
}
