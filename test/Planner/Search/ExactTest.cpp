//===- ExactTest.cpp - small steps against all orders ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// PP_SEARCH_CASES=500 in the environment takes as many random steps, where a
// build takes fewer.
//
//===----------------------------------------------------------------------===//
#include "AllOrders.h"
#include "RandomPipelines.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace pp;

/// No order is shorter than the one found, and the judge finds one as short.
static void judge(unsigned number, const SearchEffort &effort) {
  SCOPED_TRACE("pipeline " + std::to_string(number));
  const ScheduleSearchProblem problem = makeSmallPipeline(number);
  std::string error;
  const auto found = searchSchedule(problem, error, effort);
  ASSERT_TRUE(found) << error;
  EXPECT_TRUE(schedule::verify(found->schedule, error)) << error;
  EXPECT_TRUE(found->isOptimal) << found->nodes << " partial orders";
  const Placement &placement = problem.placements.front();
  const int64_t seconds = int64_t(found->seconds);
  EXPECT_FALSE(hasShorterOrder(problem, placement, seconds)) << seconds;
  EXPECT_TRUE(hasShorterOrder(problem, placement, seconds + 1)) << seconds;
}

TEST(ExactSchedule, IsTheShortestOfAll) {
  const char *text = std::getenv("PP_SEARCH_CASES");
  const unsigned cases = text ? unsigned(std::atoi(text)) : 104;
  for (unsigned number = 0; number < cases; ++number)
    judge(number, {});
}

/// What the branch and bound finds when nothing else helps it.
TEST(ExactSchedule, NeedsNoHeuristics) {
  SearchEffort effort;
  effort.placedActions = 0;
  for (unsigned number = 1000; number < 1026; ++number)
    judge(number, effort);
}
