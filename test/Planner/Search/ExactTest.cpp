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
/// The bound of a search that does not look at all orders is no longer.
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

  SearchEffort inexact = effort;
  inexact.exactNodes = 0;
  const auto other = searchSchedule(problem, error, inexact);
  ASSERT_TRUE(other) << error;
  EXPECT_LE(other->leastSeconds, found->seconds * (1 + 1e-9));
  EXPECT_GE(other->seconds, found->seconds * (1 - 1e-9));
}

static unsigned countCases() {
  const char *text = std::getenv("PP_SEARCH_CASES");
  return text ? unsigned(std::atoi(text)) : 260;
}

TEST(ExactSchedule, IsTheShortestOfAll) {
  for (unsigned number = 0; number < countCases(); ++number)
    judge(number, {});
}

/// What the branch and bound finds when nothing else helps it.
TEST(ExactSchedule, NeedsNoHeuristics) {
  SearchEffort effort;
  effort.placedActions = 0;
  for (unsigned number = 0; number < countCases(); ++number)
    judge(10000 + number, effort);
}
