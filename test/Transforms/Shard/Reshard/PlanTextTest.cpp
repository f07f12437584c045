//===- PlanTextTest.cpp - The plans and refusals one expects --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The plans a reader can check by eye, on a mesh of 2 x 3 with equal links, and
// one refusal of each kind.
//
//===----------------------------------------------------------------------===//

#include "pp/Transforms/Shard/ReshardPlanner.h"

#include "DeviceSimulator.h"

#include <gtest/gtest.h>

using namespace pp::reshard;

namespace {

enum : int { a, b };
const Mesh mesh{{"a", 2}, {"b", 3}};
const LinkModel links{{1e-9, 1e-9}, {1e-9, 1e-9}};
const std::vector<int64_t> shape{18, 18};

TensorSharding split(std::vector<std::vector<int>> dims,
                     std::vector<std::pair<int, Reduction>> partial = {}) {
  return {std::move(dims), std::move(partial)};
}

ReshardPlan plan(const TensorSharding &from, const TensorSharding &to,
                 AxisChoice choice = AxisChoice::Any) {
  return planReshard(mesh, shape, 4, from, to, links, choice);
}

/// The steps of a plan, one per line, or why there is none.
std::string spell(const ReshardPlan &plan) {
  std::string text = plan.whyUnreachable;
  for (const ReshardStep &step : plan.steps)
    text += toString(step, mesh) + "\n";
  return text;
}

} // namespace

TEST(ReshardPlan, IsEmptyBetweenEqualShardings) {
  TensorSharding both = split({{a}, {}}, {{b, Reduction::Sum}});
  EXPECT_EQ(spell(plan(both, both)), "");
  EXPECT_EQ(plan(both, both).cost, 0);
}

TEST(ReshardPlan, TakesOneCollectiveWhereOneDoes) {
  TensorSharding partial = split({{}, {}}, {{b, Reduction::Sum}});
  EXPECT_EQ(spell(plan(split({{}, {}}), split({{b, a}, {}}))),
            "all_slice(dim=0) over {\"b\", \"a\"}\n");
  EXPECT_EQ(spell(plan(split({{a}, {b}}), split({{a}, {}}))),
            "all_gather(dim=1) over {\"b\"}\n");
  EXPECT_EQ(
      spell(plan(split({{a}, {}}, {{b, Reduction::Max}}), split({{a}, {}}))),
      "all_reduce(reduction=max) over {\"b\"}\n");
  EXPECT_EQ(
      spell(plan(split({{a}, {}}, {{b, Reduction::Sum}}), split({{a, b}, {}}))),
      "reduce_scatter(dim=0, reduction=sum) over {\"b\"}\n");
  EXPECT_EQ(spell(plan(split({{a, b}, {}}), split({{a}, {b}}))),
            "all_to_all(dim=0, split_dim=1) over {\"b\"}\n");
}

TEST(ReshardPlan, PermutesToReorderAxes) {
  ReshardPlan reorder = plan(split({{a, b}, {}}), split({{b, a}, {}}));
  // Member (i, j) holds block 3 i + j; that block is wanted at the member
  // (i', j') with 2 j' + i' = 3 i + j.
  EXPECT_EQ(spell(reorder), "permute over {\"a\", \"b\"} to {\"b\", \"a\"}\n");
}

TEST(ReshardPlan, SwapsDimensionsWithoutReplicating) {
  EXPECT_EQ(spell(plan(split({{a}, {b}}), split({{b}, {a}}))),
            "all_to_all(dim=0, split_dim=1) over {\"a\"}\n"
            "all_to_all(dim=1, split_dim=0) over {\"b\", \"a\"}\n"
            "all_to_all(dim=0, split_dim=1) over {\"a\"}\n");
}

TEST(ReshardPlan, KnowsItsBytesAndSeconds) {
  // Of 18 x 18 x 4 bytes each device holds a third, and receives the rest in
  // two rounds.
  ReshardPlan gather =
      plan(split({{b}, {}}), split({{}, {}}), AxisChoice::Used);
  EXPECT_EQ(spell(gather), "all_gather(dim=0) over {\"b\"}\n");
  EXPECT_DOUBLE_EQ(gather.steps.front().wireBytes, 864);
  EXPECT_DOUBLE_EQ(gather.cost, 2 * 1e-9 + 864 * 1e-9);
}

TEST(ReshardPlan, LeavesUnusedAxesAloneOnRequest) {
  // Sharing the work of the copies along "a" saves bytes, at one more round.
  TensorSharding partial = split({{}, {}}, {{b, Reduction::Sum}});
  auto steps = [&](AxisChoice choice) {
    return spell(plan(partial, split({{}, {}}), choice));
  };
  EXPECT_EQ(steps(AxisChoice::Any),
            "all_slice(dim=0) over {\"a\"}\n"
            "reduce_scatter(dim=0, reduction=sum) over {\"b\"}\n"
            "all_gather(dim=0) over {\"a\", \"b\"}\n");
  EXPECT_EQ(steps(AxisChoice::Used),
            "all_reduce(reduction=sum) over {\"b\"}\n");
}

TEST(ReshardPlan, IgnoresAxesOfSizeOne) {
  Mesh flat{{"one", 1}, {"b", 3}};
  auto steps = [&](TensorSharding from, TensorSharding to) {
    return spell(planReshard(flat, shape, 4, from, to, links));
  };
  EXPECT_EQ(steps(split({{0}, {}}), split({{}, {0}})), "");
  EXPECT_EQ(steps(split({{}, {}}), split({{}, {}}, {{0, Reduction::Max}})), "");
  EXPECT_EQ(steps(split({{1, 0}, {}}), split({{}, {}})),
            "all_gather(dim=0) over {\"b\"}\n");
}

TEST(ReshardPlan, HoldsForEveryReduction) {
  using namespace pp::reshard::judge;
  Tensor global = numbered(shape);
  for (Reduction reduction : {Reduction::Sum, Reduction::Max, Reduction::Min,
                              Reduction::Prod, Reduction::And, Reduction::Or}) {
    TensorSharding from = split({{}, {}}, {{a, reduction}, {b, reduction}});
    TensorSharding to = split({{a}, {}});
    Devices devices = distribute(mesh, global, from, 1);
    for (const ReshardStep &step : plan(from, to).steps)
      ASSERT_EQ(apply(mesh, step, devices), "");
    EXPECT_EQ(findDifference(mesh, global, to, devices), "");
  }
}

TEST(ReshardPlan, IsRemembered) {
  ReshardPlanner planner(mesh, links);
  const ReshardPlan &first =
      planner.plan(shape, 4, split({{a}, {}}), split({{}, {}}));
  const ReshardPlan &other =
      planner.plan(shape, 8, split({{a}, {}}), split({{}, {}}));
  EXPECT_EQ(&first, &planner.plan(shape, 4, split({{a}, {}}), split({{}, {}})));
  EXPECT_LT(first.cost, other.cost);
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

TEST(ReshardRefusal, NamesTargetsThatNothingLeadsTo) {
  EXPECT_EQ(plan(split({{a}, {}}), split({{}, {}}, {{a, Reduction::Sum}}))
                .whyUnreachable,
            "expects the source to be partial with sum as the target is (no "
            "collective makes a value partial), got [{\"a\"}, {}] -> [{}, {}], "
            "partial={\"a\":sum}");
  EXPECT_EQ(
      plan(split({{}, {}}, {{a, Reduction::Sum}}),
           split({{}, {}}, {{b, Reduction::Sum}}))
          .whyUnreachable,
      "expects a target that collectives over {\"a\", \"b\"} lead to (none "
      "makes a value partial), got [{}, {}], partial={\"a\":sum} -> "
      "[{}, {}], partial={\"b\":sum}");
}

TEST(ReshardRefusal, NamesFixedAxesThatWouldMove) {
  Mesh timed{{"mb", 2, true}, {"b", 3}};
  auto why = [&](const TensorSharding &from, const TensorSharding &to) {
    return planReshard(timed, shape, 4, from, to, links).whyUnreachable;
  };
  EXPECT_EQ(why(split({{0}, {}}), split({{}, {0}})),
            "expects axis \"mb\" to be used alike at source and target (no "
            "collective runs over it), got [{\"mb\"}, {}] -> [{}, {\"mb\"}]");
  EXPECT_EQ(
      why(split({{0, 1}, {}}), split({{1, 0}, {}})),
      "expects a target that collectives over {\"b\"} lead to (none makes "
      "a value partial), got [{\"mb\", \"b\"}, {}] -> [{\"b\", \"mb\"}, "
      "{}]");
}

TEST(ReshardRefusal, NamesWhatIsWrongWithASharding) {
  TensorSharding replicated = split({{}, {}});
  auto why = [&](const TensorSharding &from) {
    return plan(from, replicated).whyUnreachable;
  };
  EXPECT_EQ(why(split({{a}})),
            "expects a sharding of 2 dimensions, got [{\"a\"}]");
  EXPECT_EQ(why(split({{a}, {a}})),
            "expects every axis to exist and to be used once, got \"a\" in "
            "[{\"a\"}, {\"a\"}]");
  EXPECT_EQ(why(split({{7}, {}})), "expects every axis to exist and to be used "
                                   "once, got #7 in [{#7}, {}]");
  EXPECT_EQ(why(split({{}, {}}, {{a, Reduction::Sum}, {b, Reduction::Max}})),
            "expects one reduction for all partial axes (different ones do "
            "not commute), got [{}, {}], partial={\"a\":sum, \"b\":max}");
  EXPECT_EQ(planReshard(mesh, {18, 7}, 4, split({{}, {a}}), replicated, links)
                .whyUnreachable,
            "expects dimension 1 of 7 elements to divide into 2 shards, got "
            "[{}, {\"a\"}]");
}

TEST(ReshardRefusal, NamesWhatIsWrongWithTheMesh) {
  TensorSharding replicated = split({{}, {}});
  auto why = [&](const Mesh &mesh, const LinkModel &links) {
    return planReshard(mesh, shape, 4, replicated, replicated, links)
        .whyUnreachable;
  };
  EXPECT_EQ(why(mesh, {{0, 0}}),
            "expects one link per mesh axis, got 1 links for 2 axes");
  EXPECT_EQ(why(mesh, {{0, 0}, {-1, 0}}),
            "expects finite latencies and seconds per byte of 0 or more, got "
            "-1.000000");
  EXPECT_EQ(why({{"a", 0}}, {{0, 0}}),
            "expects axis \"a\" to have a positive size, got 0");
  const int64_t large = int64_t(1) << 40;
  EXPECT_EQ(why({{"a", large}, {"b", large}}, {{0, 0}, {0, 0}}),
            "expects a mesh of at most 1152921504606846976 positions, got more "
            "up to axis \"b\"");
}

/// Micro-batches and stages exchange nothing, whatever their number, and an
/// axis that neither sharding speaks of bounds nothing.
TEST(ReshardPlan, IsBoundedByTheAxesThatExchangeOnly) {
  const Mesh large = {{"mb", 512, true},
                      {"pp", 1 << 20, true},
                      {"dp", 1 << 16},
                      {"tp", 1 << 12}};
  const int mb = 0, dp = 2;
  const int64_t batch = int64_t(512) << 16;
  const ReshardPlan gathered = planReshard(
      large, {batch, 2}, 4, split({{mb, dp}, {}}), split({{mb}, {}}),
      LinkModel(4, {1e-5, 1e-10}), AxisChoice::Used);
  ASSERT_TRUE(gathered.reachable()) << gathered.whyUnreachable;
  ASSERT_EQ(gathered.steps.size(), 1u);
  EXPECT_EQ(toString(gathered.steps[0], large),
            "all_gather(dim=0) over {\"dp\"}");
}
