//===- AlgorithmsTest.cpp - Generated schedules ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Small schedules are compared with ones written by hand; larger ones are
// verified and held to the bounds that define them.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Algorithms.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace pp::schedule;

static Schedule generateOrFail(const std::string &name, unsigned ranks,
                               unsigned microBatches) {
  std::string error;
  std::optional<Schedule> schedule =
      generate(name, {ranks, microBatches, /*chunks=*/1}, error);
  EXPECT_TRUE(schedule) << error;
  return schedule.value_or(Schedule());
}

TEST(GPipe, MatchesHandWritten) {
  EXPECT_EQ(printCsv(generateOrFail("gpipe", 2, 3)),
            "0F0,0F1,0F2,0B0,0B1,0B2\n"
            "1F0,1F1,1F2,1B0,1B1,1B2\n");
  EXPECT_EQ(printCsv(generateOrFail("gpipe", 3, 1)), "0F0,0B0\n"
                                                     "1F0,1B0\n"
                                                     "2F0,2B0\n");
}

TEST(OneForwardOneBackward, MatchesHandWritten) {
  EXPECT_EQ(printCsv(generateOrFail("1f1b", 2, 3)),
            "0F0,0F1,0B0,0F2,0B1,0B2\n"
            "1F0,1B0,1F1,1B1,1F2,1B2\n");
  EXPECT_EQ(printCsv(generateOrFail("1f1b", 4, 4)),
            "0F0,0F1,0F2,0F3,0B0,0B1,0B2,0B3\n"
            "1F0,1F1,1F2,1B0,1F3,1B1,1B2,1B3\n"
            "2F0,2F1,2B0,2F2,2B1,2F3,2B2,2B3\n"
            "3F0,3B0,3F1,3B1,3F2,3B2,3F3,3B3\n");
  // Fewer micro-batches than ranks: there is no steady state.
  EXPECT_EQ(printCsv(generateOrFail("1f1b", 4, 2)), "0F0,0F1,0B0,0B1\n"
                                                    "1F0,1F1,1B0,1B1\n"
                                                    "2F0,2F1,2B0,2B1\n"
                                                    "3F0,3B0,3F1,3B1\n");
}

TEST(Algorithms, HoldTheirInFlightBounds) {
  for (unsigned ranks = 1; ranks <= 8; ++ranks) {
    for (unsigned m = 1; m <= 16; ++m) {
      Schedule gpipe = generateOrFail("gpipe", ranks, m);
      Schedule oneFOneB = generateOrFail("1f1b", ranks, m);
      for (unsigned rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(peakInFlight(gpipe, rank), m);
        EXPECT_EQ(peakInFlight(oneFOneB, rank), std::min(ranks - rank, m));
      }
    }
  }
}

// Gradients are summed in the order of the backward actions, so results are the
// same under every schedule only if that order is.
TEST(Algorithms, RunBackwardInMicroBatchOrder) {
  for (const Algorithm &algorithm : algorithms()) {
    Schedule schedule = generateOrFail(algorithm.name, 3, 5);
    for (const std::vector<Action> &actions : schedule.ranks) {
      unsigned next = 0;
      for (const Action &action : actions)
        if (action.kind == Kind::Backward)
          EXPECT_EQ(action.microBatch, next++) << algorithm.name;
    }
  }
}

TEST(Algorithms, NameTheNearOnesOfAnUnknownName) {
  std::string error;
  EXPECT_FALSE(generate("1f1", {2, 2, 1}, error));
  EXPECT_EQ(error, "expects a schedule named '1f1b', got '1f1'");
  EXPECT_FALSE(generate("zigzag", {2, 2, 1}, error));
  EXPECT_EQ(error,
            "expects a schedule named one of 'gpipe', '1f1b', got 'zigzag'");
}

TEST(Algorithms, RefuseProblemsTheyCannotSolve) {
  std::string error;
  EXPECT_FALSE(generate("gpipe", {2, 0, 1}, error));
  EXPECT_EQ(error, "expects between 1 and 65536 micro-batches, got 0");
  EXPECT_FALSE(generate("gpipe", {0, 4, 1}, error));
  EXPECT_EQ(error, "expects between 1 and 4096 ranks, got 0");
  EXPECT_FALSE(generate("gpipe", {4096, 65536, 1}, error));
  EXPECT_EQ(error, "expects between 1 and 16777216 pairs of stage and "
                   "micro-batch, got 268435456");
  EXPECT_FALSE(generate("1f1b", {2, 4, 2}, error));
  EXPECT_EQ(error, "schedule '1f1b' expects between 1 and 1 stages per rank, "
                   "got 2");
}
