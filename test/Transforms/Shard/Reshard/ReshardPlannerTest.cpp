//===- ReshardPlannerTest.cpp - Plans give the right values ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "pp/Transforms/Shard/ReshardPlanner.h"

#include "Cases.h"
#include "DeviceSimulator.h"

#include <gtest/gtest.h>

using namespace pp::reshard;
using namespace pp::reshard::judge;

namespace {

/// Runs the plan from `from` to `to` on devices and looks at what they hold
/// after every step.
void checkValues(const Case &test, const TensorSharding &from,
                 const TensorSharding &to, const Tensor &global,
                 const Devices &source) {
  ReshardPlan plan =
      planReshard(test.mesh, test.shape, elementBytes, from, to, test.links);
  std::string name =
      toString(from, test.mesh) + " -> " + toString(to, test.mesh);
  if (!plan.reachable()) {
    EXPECT_FALSE(to.partial.empty()) << name << ": " << plan.whyUnreachable;
    EXPECT_NE(plan.whyUnreachable.find(toString(to, test.mesh)),
              std::string::npos)
        << plan.whyUnreachable;
    return;
  }
  ASSERT_EQ(plan.steps.empty(), from == to) << name;
  Devices devices = source;
  for (const ReshardStep &step : plan.steps) {
    ASSERT_EQ(apply(test.mesh, step, devices), "") << name;
    ASSERT_EQ(findDifference(test.mesh, global, step.result, devices), "")
        << name;
  }
  ASSERT_EQ(findDifference(test.mesh, global, to, devices), "") << name;
  ASSERT_TRUE(plan.steps.empty() || plan.steps.back().result == to) << name;
}

} // namespace

TEST(ReshardPlanner, EveryPairGivesTheRightValues) {
  for (const Case &test : smallCases()) {
    SCOPED_TRACE(test.name);
    Tensor global = numbered(test.shape);
    auto shardings = test.shardings(Reduction::Sum);
    for (const TensorSharding &from : shardings) {
      Devices source = distribute(test.mesh, global, from, 1);
      for (const TensorSharding &to : shardings)
        checkValues(test, from, to, global, source);
    }
  }
}
