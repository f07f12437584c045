//===- ClocksTest.cpp - times of several processes on one clock -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Made-up clocks, so that every answer is known.
//
//===----------------------------------------------------------------------===//
#include "engine/Clocks.h"

#include <gtest/gtest.h>

using namespace pprt;

TEST(Clocks, WithoutReadingsTimesStay) {
  EXPECT_EQ(Clocks().convert(3, 17), 17);
  EXPECT_EQ(Clocks().error(3), 0);
}

// The clock is 500 behind. One of three trips takes little time, with the
// answer early in it.
TEST(Clocks, TheFastestRoundTripCounts) {
  const ClockReading reading = closestReading(
      {{1'000, 590, 1'300}, {2'000, 1'501, 2'007}, {3'000, 2'690, 3'200}});
  EXPECT_EQ(reading.at, 1'501);
  EXPECT_EQ(reading.ahead, -502);
  EXPECT_EQ(reading.error, 4);
}

TEST(Clocks, OneReadingShifts) {
  Clocks clocks;
  clocks.add({{}, {1'000, 400, 30}});
  EXPECT_EQ(clocks.convert(0, 1'234), 1'234);
  EXPECT_EQ(clocks.convert(1, 1'234), 834);
  EXPECT_EQ(clocks.error(0), 0);
  EXPECT_EQ(clocks.error(1), 30);
}

// Readings of a clock that is ahead by years, and runs 50 us a second too fast.
TEST(Clocks, TwoReadingsCorrectTheDrift) {
  const int64_t ahead = int64_t(300'000'000) * 1'000'000'000,
                second = 1'000'000'000;
  const auto theirs = [&](int64_t ours) {
    return ours + ahead + ours / second * 50'000;
  };
  Clocks clocks;
  for (int64_t now : {10 * second, 40 * second, 110 * second})
    clocks.add(
        {{}, {theirs(now), theirs(now) - now, now == 40 * second ? 9 : 5}});
  for (int64_t now : {10 * second, 60 * second, 110 * second, 111 * second})
    EXPECT_NEAR(double(clocks.convert(1, theirs(now)) - now), 0, 2);
  // Errors of the first and the last reading.
  EXPECT_EQ(clocks.error(1), 5);
}
