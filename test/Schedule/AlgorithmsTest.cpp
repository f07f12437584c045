//===- AlgorithmsTest.cpp - Generated schedules ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Small schedules are compared with ones written by hand; larger ones are
// verified and held to the bounds that define them.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Algorithms.h"
#include "pp/Schedule/Simulate.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace pp::schedule;

/// `chunks` of 0: as few as the algorithm takes.
static Schedule generateOrFail(const std::string &name, unsigned ranks,
                               unsigned microBatches, unsigned chunks = 0) {
  std::string error;
  std::optional<Schedule> schedule =
      generate(name, {ranks, microBatches, chunks}, error);
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

TEST(Interleaved, MatchesHandWritten) {
  EXPECT_EQ(printCsv(generateOrFail("interleaved-1f1b", 2, 2, 2)),
            "0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n"
            "1F0,1F1,3F0,3B0,3F1,3B1,1B0,1B1\n");
  // Five micro-batches go round in groups of three and two.
  EXPECT_EQ(printCsv(generateOrFail("interleaved-1f1b", 2, 5, 2)),
            "0F0,0F1,0F2,2F0,2F1,2F2,2B0,0F3,2B1,0F4,2B2,2F3,0B0,2F4,0B1,0B2,"
            "2B3,2B4,0B3,0B4\n"
            "1F0,1F1,1F2,3F0,3B0,3F1,3B1,3F2,3B2,1F3,1B0,1F4,1B1,3F3,1B2,3F4,"
            "3B3,3B4,1B3,1B4\n");
}

// Idle time is that of p - 1 pairs of forward and backward actions, if each
// rank has p micro-batches or more.
TEST(Interleaved, HasTheBubbleAndTheMemoryOfThePaper) {
  for (unsigned p = 1; p <= 8; ++p)
    for (unsigned v = 2; v <= 4; ++v)
      for (unsigned m = 1; m <= 3 * p + 1; ++m) {
        Schedule schedule = generateOrFail("interleaved-1f1b", p, m, v);
        const double end = simulate(schedule, Durations::usual()).end;
        if (m >= p)
          EXPECT_LE(end, 3.0 * (m * v + p - 1));
        if (m % p)
          continue;
        EXPECT_EQ(end, 3.0 * (m * v + p - 1)) << p << " " << v << " " << m;
        for (unsigned rank = 0; rank < p; ++rank)
          EXPECT_EQ(peakInFlight(schedule, rank),
                    std::min(m * v, (v - 1) * p + 2 * (p - rank) - 1));
      }
}

/// The most residuals that a rank holds: 1 from F to B, and 0.5 up to W.
static double peakResiduals(const std::vector<Action> &actions) {
  double now = 0, peak = 0;
  for (const Action &action : actions) {
    now += action.kind == Kind::Forward ? 1 : -0.5;
    peak = std::max(peak, now);
  }
  return peak;
}

// F, B and W take 1 each, transfers nothing (Qi et al., 2023, table 2).
TEST(ZeroBubble, HasTheTimesAndTheMemoryOfThePaper) {
  struct Case {
    const char *name;
    unsigned p, m;
    double end, longestSpan;
    std::vector<double> peaks;
  };
  for (const Case &it : {Case{"zb-h1", 4, 8, 27, 27, {4, 3.5, 3, 2.5}},
                         {"zb-h2", 4, 8, 27, 24, {7, 6, 5, 4}},
                         {"zb-h1", 8, 24, 79, 79, {}},
                         {"zb-h2", 8, 24, 79, 72, {}}}) {
    Schedule schedule = generateOrFail(it.name, it.p, it.m);
    Timeline timeline = simulate(schedule, Durations::unit());
    double span = 0;
    for (unsigned rank = 0; rank < it.p; ++rank) {
      const std::vector<TimedAction> &timed = timeline.ranks[rank];
      span = std::max(span, timed.back().end - timed.front().start);
      if (!it.peaks.empty())
        EXPECT_EQ(peakResiduals(schedule.ranks[rank]), it.peaks[rank]);
    }
    EXPECT_EQ(timeline.end, it.end);
    EXPECT_EQ(span, it.longestSpan);
  }
}

// A stage is half of one of 1F1B, which holds up to p of these.
TEST(ZeroBubble, VIsNeverIdleInTheMemoryOf1F1B) {
  for (unsigned p = 1; p <= 8; ++p)
    for (unsigned m = 1; m <= 3 * p; ++m) {
      Schedule schedule = generateOrFail("zb-v", p, m);
      Timeline timeline = simulate(schedule, Durations::unit());
      for (unsigned rank = 0; rank < p; ++rank) {
        const std::vector<TimedAction> &timed = timeline.ranks[rank];
        EXPECT_LE(peakResiduals(schedule.ranks[rank]), 2 * std::min(p, m));
        if (m + 1 >= 2 * p)
          EXPECT_EQ(timed.back().end - timed.front().start, 6.0 * m);
      }
      EXPECT_EQ(stageRanks(schedule)[2 * p - 1], 0u);
    }
}

TEST(ZeroBubble, HasClosedForms) {
  for (unsigned p = 1; p <= 8; ++p)
    for (unsigned m = 1; m <= 3 * p; ++m) {
      const double h1 =
          simulate(generateOrFail("zb-h1", p, m), Durations::unit()).end;
      if (m >= p)
        EXPECT_EQ(h1, 3.0 * m + p - 1);
      Timeline h2 = simulate(generateOrFail("zb-h2", p, m), Durations::unit());
      if (m + 1 < 2 * p)
        continue;
      for (const std::vector<TimedAction> &timed : h2.ranks)
        EXPECT_EQ(timed.back().end - timed.front().start, 3.0 * m);
    }
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
    std::vector<unsigned> next(schedule.stages);
    for (const std::vector<Action> &actions : schedule.ranks)
      for (const Action &action : actions)
        if (action.kind == Kind::Backward)
          EXPECT_EQ(action.microBatch, next[action.stage]++) << algorithm.name;
  }
}

TEST(Algorithms, NameTheNearOnesOfAnUnknownName) {
  std::string error;
  EXPECT_FALSE(generate("1f1", {2, 2, 1}, error));
  EXPECT_EQ(error, "expects a schedule named '1f1b', got '1f1'");
  EXPECT_FALSE(generate("zigzag", {2, 2, 1}, error));
  EXPECT_EQ(error,
            "expects a schedule named one of 'gpipe', '1f1b', "
            "'interleaved-1f1b', 'zb-h1', 'zb-h2', 'zb-v', got 'zigzag'");
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
  EXPECT_EQ(error, "schedule '1f1b' expects 1 stage per rank (chunks), got 2; "
                   "those that take as many: 'interleaved-1f1b', 'zb-v'");
  EXPECT_FALSE(generate("interleaved-1f1b", {2, 4, 1}, error));
  EXPECT_EQ(
      error,
      "schedule 'interleaved-1f1b' expects at least 2 stages per rank "
      "(chunks), got 1; those that take as many: 'gpipe', '1f1b', 'zb-h1', "
      "'zb-h2'");
}

// Qi et al., 2023, from their times of F, B, W and transfers in milliseconds:
// the bubble there is 1 - m (F + B + W) / cost, and the cost that of the rank
// which takes longest from its first action to its last.
TEST(Algorithms, BubblesAreThosePublishedForFourModels) {
  struct Row {
    unsigned ranks, microBatches;
    double forward, backward, weight, transfer;
    double bubbles[3];
  };
  const Row rows[] = {
      {8, 24, 18.522, 18.086, 9.337, 0.601, {0.2431, 0.1585, 0.1083}},
      {8, 24, 29.718, 29.444, 19.927, 0.527, {0.2347, 0.1323, 0.0698}},
      {16, 48, 11.347, 11.248, 8.132, 0.377, {0.2552, 0.1397, 0.0672}},
      {32, 96, 10.419, 10.207, 7.715, 0.408, {0.2646, 0.1421, 0.0641}}};
  const char *names[] = {"1f1b", "zb-h1", "zb-h2"};
  for (const Row &row : rows) {
    const Durations durations{
        [&](const Action &action, bool merged) {
          return action.kind == Kind::Forward  ? row.forward
                 : action.kind == Kind::Weight ? row.weight
                 : merged                      ? row.backward + row.weight
                                               : row.backward;
        },
        [&](const Action &, const Action &) { return row.transfer; }};
    for (size_t i = 0; i < 3; ++i) {
      std::string error;
      auto schedule =
          generate(names[i], {row.ranks, row.microBatches, 1}, error);
      ASSERT_TRUE(schedule) << error;
      double cost = 0;
      for (const auto &rank : simulate(*schedule, durations).ranks)
        cost = std::max(cost, rank.back().end - rank.front().start);
      const double work =
          row.microBatches * (row.forward + row.backward + row.weight);
      EXPECT_NEAR(1 - work / cost, row.bubbles[i], 1e-4)
          << names[i] << " of " << row.ranks;
    }
  }
}
