//===- ReshardPlannerTest.cpp - Plans are right, and none is cheaper ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every pair of shardings of a case is planned. Two judges that share no code
// with the planner look at the plan: a simulator at the values on every device,
// a brute-force search over device maps at the cost.
//
//===----------------------------------------------------------------------===//

#include "pp/Transforms/Shard/ReshardPlanner.h"

#include "BruteForce.h"
#include "Cases.h"
#include "DeviceSimulator.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace pp::reshard;
using namespace pp::reshard::judge;

namespace {

class EveryPair : public testing::TestWithParam<Case> {};

std::string spellPair(const Case &test, const TensorSharding &from,
                      const TensorSharding &to) {
  return toString(from, test.mesh) + " -> " + toString(to, test.mesh);
}

/// Runs a plan on devices and looks at what they hold after every step.
void checkValues(const Case &test, const ReshardPlan &plan,
                 const TensorSharding &to, const Tensor &global,
                 Devices devices) {
  for (const ReshardStep &step : plan.steps) {
    ASSERT_EQ(apply(test.mesh, step, devices), "");
    ASSERT_EQ(findDifference(test.mesh, global, step.result, devices), "");
  }
  EXPECT_EQ(findDifference(test.mesh, global, to, devices), "");
  EXPECT_TRUE(plan.steps.empty() || plan.steps.back().result == to);
}

/// Compares all plans of a case with the least costs.
void checkCosts(const Case &test, Permutes permutes) {
  BruteForce judge(test, permutes);
  TensorSharding replicated;
  replicated.dims.resize(test.shape.size());
  int replicatedNode = judge.nodeOf(replicated);
  auto shardings = test.shardings(Reduction::Sum);
  for (const TensorSharding &from : shardings) {
    std::vector<double> costs = judge.costsFrom(judge.nodeOf(from));
    std::vector<double> costsAround =
        judge.costsFrom(judge.nodeOf(from), replicatedNode);
    for (const TensorSharding &to : shardings) {
      SCOPED_TRACE(spellPair(test, from, to));
      ReshardPlan plan = planReshard(test.mesh, test.shape, test.elementBytes,
                                     from, to, test.links);
      double least = costs[judge.nodeOf(to)];
      ASSERT_EQ(plan.reachable(), std::isfinite(least)) << plan.whyUnreachable;
      if (!plan.reachable()) {
        EXPECT_NE(plan.whyUnreachable.find(toString(to, test.mesh)),
                  std::string::npos);
        continue;
      }
      EXPECT_NEAR(plan.cost, least, 1e-9 * least);
      for (size_t i = 0; i + 1 < plan.steps.size(); ++i)
        if (plan.steps[i].result == replicated && from != replicated)
          EXPECT_GE(costsAround[judge.nodeOf(to)], least * (1 - 1e-9))
              << "replicates in full although a cheaper way exists";
    }
  }
}

} // namespace

TEST_P(EveryPair, GivesTheRightValues) {
  const Case &test = GetParam();
  Tensor global = numbered(test.shape);
  auto shardings = test.shardings(Reduction::Sum);
  // All pairs of small cases; of large ones a sample, as values take long.
  std::mt19937 random(1);
  const size_t most = 5000;
  size_t oneOf =
      std::max<size_t>(1, shardings.size() * shardings.size() / most);
  for (const TensorSharding &from : shardings) {
    Devices source = distribute(test.mesh, global, from, 1);
    for (const TensorSharding &to : shardings) {
      if (random() % oneOf != 0)
        continue;
      SCOPED_TRACE(spellPair(test, from, to));
      ReshardPlan plan = planReshard(test.mesh, test.shape, test.elementBytes,
                                     from, to, test.links);
      if (plan.reachable())
        checkValues(test, plan, to, global, source);
    }
  }
}

TEST_P(EveryPair, CostsAsLittleAsItCan) {
  checkCosts(GetParam(), Permutes::Named);
}

/// Types in the IR name only some device maps. On meshes small enough to try
/// every rearrangement of the devices, the others make nothing cheaper.
class EveryRearrangement : public testing::TestWithParam<Case> {};

TEST_P(EveryRearrangement, MakesNothingCheaper) {
  checkCosts(GetParam(), Permutes::All);
}

static std::string nameOf(const testing::TestParamInfo<Case> &info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Small, EveryPair, testing::ValuesIn(smallCases()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Large, EveryPair, testing::ValuesIn(largeCases()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Tiny, EveryRearrangement,
                         testing::ValuesIn(tinyCases()), nameOf);

//===----------------------------------------------------------------------===//
// Many axes
//===----------------------------------------------------------------------===//

namespace {

/// Every axis somewhere, at random; of those in `mayBePartial` some partial.
TensorSharding drawSharding(size_t axes, size_t rank,
                            const std::vector<int> &mayBePartial,
                            std::mt19937 &random) {
  std::vector<int> order(axes);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  TensorSharding sharding;
  sharding.dims.resize(rank);
  for (int axis : order) {
    const bool maySum =
        std::count(mayBePartial.begin(), mayBePartial.end(), axis) > 0;
    if (const size_t place = random() % (rank + 1 + maySum); place < rank)
      sharding.dims[place].push_back(axis);
    else if (place > rank)
      sharding.partial.push_back({axis, Reduction::Sum});
  }
  return sharding;
}

/// What the way through the whole tensor costs.
double costAround(const Case &test, const TensorSharding &from,
                  const TensorSharding &to) {
  TensorSharding whole;
  whole.dims.resize(test.shape.size());
  double cost = 0;
  for (const auto &[a, b] : {std::pair(from, whole), std::pair(whole, to)})
    cost +=
        planReshard(test.mesh, test.shape, test.elementBytes, a, b, test.links)
            .cost;
  return cost;
}

} // namespace

TEST(ManyAxes, AreNoReasonToRefuse) {
  std::mt19937 random(1);
  std::vector<int> all;
  for (const size_t axes : {6, 7, 8, 9}) {
    Case test{"", {}, LinkModel(axes, AxisLink{2e-6, 1e-11}), {8, 8, 8}, 4096};
    test.shape.back() <<= std::max<size_t>(axes, 8) - 8;
    all.clear();
    for (size_t axis = 0; axis < axes; ++axis) {
      test.mesh.push_back({std::string(1, char('a' + axis)), 2});
      test.links[axis].secondsPerByte *= double(1 + axis);
      all.push_back(int(axis));
    }
    const Tensor global = numbered(test.shape);
    size_t planned = 0;
    while (planned < (axes > 8 ? 2 : 12)) {
      const TensorSharding from =
          drawSharding(axes, test.shape.size(), all, random);
      std::vector<int> partial;
      for (auto [axis, reduction] : from.partial)
        partial.push_back(axis);
      const TensorSharding to =
          drawSharding(axes, test.shape.size(), partial, random);
      const auto divides = [&](const TensorSharding &sharding) {
        for (size_t dim = 0; dim < test.shape.size(); ++dim)
          if (test.shape[dim] % (1 << sharding.dims[dim].size()) != 0)
            return false;
        return true;
      };
      if (!divides(from) || !divides(to))
        continue;
      ++planned;
      SCOPED_TRACE(spellPair(test, from, to));
      const ReshardPlan plan = planReshard(
          test.mesh, test.shape, test.elementBytes, from, to, test.links);
      ASSERT_TRUE(plan.reachable()) << plan.whyUnreachable;
      checkValues(test, plan, to, global,
                  distribute(test.mesh, global, from, 1));
      if (to.partial.empty())
        EXPECT_LE(plan.cost, costAround(test, from, to) * (1 + 1e-9));
    }
  }
}

/// 50 axes of one dimension that exchange places, of which half are partial.
TEST(ManyAxes, OfAnyNumberArePlanned) {
  const int axes = 50;
  Mesh mesh;
  for (int axis = 0; axis < axes; ++axis)
    mesh.push_back({"x" + std::to_string(axis), 2});
  TensorSharding from, to;
  from.dims.resize(2);
  to.dims.resize(2);
  for (int axis = 0; axis < axes; ++axis) {
    if (axis % 2 == 0)
      from.dims[0].push_back(axis);
    else
      from.partial.push_back({axis, Reduction::Sum});
    to.dims[axis % 2].push_back(axis);
  }
  std::swap(to.dims[0], to.dims[1]);
  const ReshardPlan plan =
      planReshard(mesh, {int64_t(1) << 26, int64_t(1) << 26}, 4, from, to,
                  LinkModel(axes, AxisLink{2e-6, 1e-11}));
  ASSERT_TRUE(plan.reachable()) << plan.whyUnreachable;
  ASSERT_FALSE(plan.steps.empty());
  EXPECT_TRUE(plan.steps.back().result == to);
}
