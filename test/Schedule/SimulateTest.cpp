//===- SimulateTest.cpp - Timelines and their pictures --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Times against those of the literature or worked out by hand; pictures by what
// they must contain.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Simulate.h"
#include "pp/Schedule/Algorithms.h"
#include "pp/Schedule/Looks.h"
#include "pp/Schedule/Picture.h"

#include <gtest/gtest.h>

using namespace pp::schedule;

static Schedule make(const char *name, unsigned ranks, unsigned m) {
  std::string error;
  return *generate(name, {ranks, m, 1}, error);
}

// The bubble is idle over busy time. With p ranks, m micro-batches and stages
// of equal cost, both schedules take (m + p - 1) (F + B), of which each rank is
// busy for m (F + B).
TEST(Simulate, GivesTheKnownBubbleOfBalancedStages) {
  for (const char *name : {"gpipe", "1f1b"}) {
    for (unsigned p = 1; p <= 6; ++p) {
      for (unsigned m = 1; m <= 12; ++m) {
        Schedule schedule = make(name, p, m);
        double expected = (p - 1.0) / m;
        Timeline unit = simulate(schedule, Durations::unit());
        Timeline usual = simulate(schedule, Durations::usual());
        EXPECT_DOUBLE_EQ(unit.end, 2 * (m + p - 1));
        EXPECT_DOUBLE_EQ(usual.end, 3 * (m + p - 1));
        for (unsigned rank = 0; rank < p; ++rank) {
          EXPECT_NEAR(*unit.bubble(rank), expected, 1e-12);
          EXPECT_NEAR(*usual.bubble(rank), expected, 1e-12);
        }
        EXPECT_NEAR(*unit.bubble(), expected, 1e-12);
      }
    }
  }
}

// Of interleaved stages it is (p - 1) / (v m).
TEST(Simulate, GivesTheKnownBubbleOfInterleavedStages) {
  for (unsigned p = 2; p <= 4; ++p)
    for (unsigned v = 2; v <= 3; ++v)
      for (unsigned m = p; m <= 4 * p; m += p) {
        std::string error;
        Schedule schedule = *generate("interleaved-1f1b", {p, m, v}, error);
        EXPECT_NEAR(*simulate(schedule, Durations::usual()).bubble(),
                    (p - 1.0) / (v * m), 1e-12)
            << p << " ranks, " << v << " stages each, " << m;
      }
}

TEST(Simulate, HonoursDependenciesAndQueues) {
  Schedule schedule = make("1f1b", 3, 5);
  Durations durations{
      [](const Action &a, bool) { return 1.0 + a.stage + 0.25 * a.microBatch; },
      [](const Action &a, const Action &) { return 0.5 + a.microBatch; }};
  Timeline timeline = simulate(schedule, durations);
  EXPECT_EQ(timeline.transfers.size(), 2u * 2 * 5);
  auto find = [&](const Action &action) {
    for (const auto &rank : timeline.ranks)
      for (const TimedAction &timed : rank)
        if (timed.action == action)
          return timed;
    ADD_FAILURE() << print(action);
    return TimedAction();
  };
  for (const TimedTransfer &transfer : timeline.transfers) {
    EXPECT_GE(transfer.start, find(transfer.producer).end);
    EXPECT_EQ(transfer.end - transfer.start,
              0.5 + transfer.producer.microBatch);
    EXPECT_LE(transfer.end, find(transfer.consumer).start);
    for (const TimedTransfer &other : timeline.transfers)
      if (&other != &transfer && other.from == transfer.from &&
          other.to == transfer.to)
        EXPECT_TRUE(other.end <= transfer.start || transfer.end <= other.start);
  }
  for (const auto &rank : timeline.ranks)
    for (size_t i = 1; i < rank.size(); ++i)
      EXPECT_LE(rank[i - 1].end, rank[i].start);
}

TEST(Simulate, SplitBackwardsUnblockTheirNeighboursEarlier) {
  std::string error;
  Schedule split = *parseCsv("0F0,0B0\n1F0,1I0,1W0\n", error);
  Timeline timeline = simulate(split, Durations::usual());
  // 0B0 starts when 1I0 ends, beside 1W0.
  EXPECT_EQ(timeline.ranks[0][1].start, 3);
  EXPECT_EQ(timeline.end, 5);
}

TEST(Simulate, TakesEmptyStepsAndNegativeDurations) {
  Schedule schedule = make("gpipe", 2, 2);
  Durations durations{[](const Action &, bool) { return -1.0; },
                      [](const Action &, const Action &) { return -1.0; }};
  Timeline timeline = simulate(schedule, durations);
  EXPECT_EQ(timeline.end, 0);
  EXPECT_EQ(timeline.bubble(0), std::nullopt);
  EXPECT_EQ(timeline.bubble(), std::nullopt);
  EXPECT_EQ(printBubble(timeline.bubble()), "-");
  EXPECT_NE(drawText(schedule, timeline), "");
  EXPECT_NE(drawSvg(schedule, timeline), "");
}

TEST(Draw, TextShowsNamesAndIdleTime) {
  Schedule schedule = make("1f1b", 2, 2);
  EXPECT_EQ(drawText(schedule, simulate(schedule, Durations::usual())),
            "stage 0 |0F0 0F1 ........0B0---- ....0B1---- | bubble 50.0%\n"
            "stage 1 |....1F0 1B0---- 1F1 1B1---- ........| bubble 50.0%\n");
}

TEST(Draw, TextFallsBackToKindsWhenNarrow) {
  Schedule schedule = make("gpipe", 2, 4);
  EXPECT_EQ(
      drawText(schedule, simulate(schedule, Durations::unit()), /*columns=*/20),
      "stage 0 |F F F F ....B B B B | bubble 25.0%\n"
      "stage 1 |..F F F F B B B B ..| bubble 25.0%\n");
}

static size_t count(const std::string &svg, const std::string &text) {
  size_t n = 0;
  for (size_t at = svg.find(text); at != std::string::npos;
       at = svg.find(text, at + 1))
    ++n;
  return n;
}

TEST(Draw, SvgNamesActionsAndHasALegendOfWhatOccurs) {
  Schedule schedule = make("1f1b", 3, 4);
  std::string svg = drawSvg(schedule, simulate(schedule, Durations::usual()));
  EXPECT_EQ(count(svg, "<title>"), 2u * 3 * 4);
  EXPECT_EQ(count(svg, "<title>1B2: "), 1u);
  // The number of each micro-batch, forward and backward, and of the axis.
  EXPECT_EQ(count(svg, ">3<"), 2u * 3);
  EXPECT_EQ(count(svg, ">forward<"), 1u);
  EXPECT_EQ(count(svg, ">backward<"), 1u);
  EXPECT_EQ(count(svg, ">gradients of weights<"), 0u);
  EXPECT_EQ(count(svg, ">50.0%<"), 3u);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

// Gradients of inputs and of weights, and the stages of a position, look apart.
TEST(Draw, SvgTellsKindsAndStagesApart) {
  std::string error;
  Schedule schedule = *generate("zb-v", {2, 4, 2}, error);
  std::string svg = drawSvg(schedule, simulate(schedule, Durations::usual()));
  EXPECT_EQ(count(svg, ">backward, of inputs where W is apart<"), 1u);
  for (char kind : {'F', 'B', 'W'}) {
    EXPECT_NE(fillOf(kind, 0, 2), fillOf(kind, 1, 2));
    for (unsigned stage : {0, 1})
      EXPECT_GE(count(svg, "fill=\"" + fillOf(kind, stage, 2) + "\"><title>"),
                4u)
          << kind << stage;
  }
}

// What is too narrow has no number and no element of its own.
TEST(Draw, SvgOfManyMicroBatchesStaysSmall) {
  std::string error;
  for (const char *name : {"1f1b", "zb-h1"}) {
    Schedule schedule = *generate(name, {64, 512, 1}, error);
    std::string svg = drawSvg(schedule, simulate(schedule, Durations::usual()));
    EXPECT_LT(svg.size(), 2u << 20) << name;
    EXPECT_EQ(count(svg, "<title>"), 0u) << name;
  }
}

// A step line of what is live, its peak marked, below the rows.
TEST(Draw, SvgHasMemoryOverTime) {
  Picture picture;
  picture.title = "<mine> & yours";
  picture.end = 10;
  picture.rows = {{"rank 0", "-", {}}};
  picture.memory = {{"rank 0", "30 B", {{0, 10}, {4, 30}, {8, 20}}, 40}};
  const std::string svg = drawSvg(picture);
  EXPECT_EQ(count(svg, ">&lt;mine> &amp; yours<"), 1u);
  EXPECT_EQ(count(svg, ">30 B<"), 1u);
  EXPECT_EQ(count(svg, "<circle"), 1u);
  EXPECT_EQ(count(svg, "stroke-dasharray"), 1u);
}
