//===- CutSearchTest.cpp - what the cut search refuses --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Costs come from programs that know no MLIR, and may be anything.
// StageCutsTest.cpp judges what is chosen.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/CutSearch.h"
#include <functional>
#include <gtest/gtest.h>
#include <limits>

using namespace pp;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInfinite = std::numeric_limits<double>::infinity();

struct Case {
  const char *name;
  std::function<void(StageCosts &)> spoil;
  int64_t stages, microBatches;
  const char *schedule, *error;
};

const Case kCases[] = {
    {"short", [](StageCosts &costs) { costs.crossing.pop_back(); }, 2, 2,
     "1f1b", "lists of one length"},
    {"empty", [](StageCosts &costs) { costs.work = {}; }, 2, 2, "1f1b",
     "lists of one length"},
    {"falling", [](StageCosts &costs) { costs.forward[2] = 0; }, 2, 2, "1f1b",
     "do not fall"},
    {"NaN", [](StageCosts &costs) { costs.backward[0] = kNaN; }, 2, 2, "1f1b",
     "do not fall"},
    {"infinite", [](StageCosts &costs) { costs.crossing[1] = kInfinite; }, 2, 2,
     "1f1b", "do not fall"},
    {"later", [](StageCosts &costs) { costs.work = {5, 5, 6, 6}; }, 2, 2,
     "1f1b", "at most 1 stages"},
    {"many", [](StageCosts &) {}, 4, 2, "1f1b", "at most 3 stages"},
    {"none", [](StageCosts &) {}, 0, 2, "1f1b", "at least 1 stage"},
    {"never", [](StageCosts &) {}, 2, -1, "1f1b", "at least 1 stage"},
    {"order", [](StageCosts &) {}, 2, 2, "1b1f", "1b1f"},
};

} // namespace

TEST(CutSearch, RefusesWhatIsNoList) {
  for (const Case &example : kCases) {
    StageCosts costs;
    for (int op = 0; op < 3; ++op)
      costs.add(1, 2, 0.5);
    std::string error;
    ASSERT_EQ(findStageCuts(costs, "1f1b", 3, 4, error),
              std::vector<int64_t>({1, 2}));
    example.spoil(costs);
    EXPECT_FALSE(findStageCuts(costs, example.schedule, example.stages,
                               example.microBatches, error))
        << example.name;
    EXPECT_NE(error.find(example.error), std::string::npos)
        << example.name << ": " << error;
  }
}

/// Where nothing costs anything, every stage still gets an op.
TEST(CutSearch, OfNoCosts) {
  StageCosts costs;
  for (int op = 0; op < 6; ++op)
    costs.add(0, 0, 0);
  std::string error;
  const auto cuts = findStageCuts(costs, "gpipe", 3, 1000000000000, error);
  ASSERT_TRUE(cuts) << error;
  ASSERT_EQ(cuts->size(), 2u);
  EXPECT_TRUE(0 < (*cuts)[0] && (*cuts)[0] < (*cuts)[1] && (*cuts)[1] < 6);
}
