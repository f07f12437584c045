//===- StepClockTest.cpp - a step's own time and its wait for data --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Given times, in milliseconds from an arbitrary origin.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/StepClock.h"

#include <gtest/gtest.h>

using pprt::host::StepClock;

static StepClock::Time at(int ms) {
  return StepClock::Time(std::chrono::milliseconds(ms));
}

static void expectSpan(const StepClock::Span &span, double step, double data) {
  EXPECT_EQ(span.step, step);
  EXPECT_EQ(span.data, data);
}

TEST(StepClock, StepsOneByOneWaitForAllOfTheirBatch) {
  StepClock clock(at(0));
  clock.begin(/*asked=*/at(0), at(5));
  expectSpan(clock.finish(at(25)), 20, 5);
  clock.begin(at(30), at(40));
  expectSpan(clock.finish(at(70)), 30, 10);
  EXPECT_EQ(clock.lastEnd(), at(70));
}

/// The first step runs until 90; the second one's batch comes at 60.
TEST(StepClock, AStepThatRunsMeanwhileWaitsForNothing) {
  StepClock clock(at(0));
  clock.begin(at(0), at(0));
  EXPECT_TRUE(clock.runs());
  clock.begin(at(10), at(60));
  expectSpan(clock.finish(at(90)), 90, 0);
  expectSpan(clock.finish(at(120)), 30, 0);
}

/// The first step ends at 20; the second one's batch comes at 60.
TEST(StepClock, DataIsAwaitedOnceTheStepBeforeHasEnded) {
  StepClock clock(at(0));
  clock.begin(at(0), at(0));
  clock.see(at(20));
  EXPECT_FALSE(clock.runs());
  clock.see(at(30));
  clock.begin(at(10), at(60));
  expectSpan(clock.finish(at(61)), 20, 0);
  expectSpan(clock.finish(at(100)), 40, 40);
}
