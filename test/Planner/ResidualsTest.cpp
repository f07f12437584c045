//===- ResidualsTest.cpp - what is kept, against all choices --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The judge tries every set of kept values of small random graphs.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/Residuals.h"
#include <gtest/gtest.h>
#include <random>

using namespace pp;

namespace {

using Nodes = std::vector<ResidualNode>;

/// Up to 16 values that read earlier ones; some cannot run again.
Nodes drawGraph(std::mt19937 &random) {
  auto below = [&](unsigned limit) { return unsigned(random() % limit); };
  Nodes nodes(4 + below(13));
  for (unsigned number = 0; number < nodes.size(); ++number) {
    ResidualNode &node = nodes[number];
    node.bytes = below(6) ? 1 + below(40) : 0;
    if (number > 0 && below(5))
      node.work = below(4) ? below(50) : 0;
    for (unsigned count = below(3); number > 0 && count > 0; --count)
      if (unsigned operand = below(number);
          !llvm::is_contained(node.operands, operand))
        node.operands.push_back(operand);
    node.isNeeded = below(3) == 0;
  }
  nodes.back().isNeeded = true;
  return nodes;
}

/// The bytes and the work of keeping `kept`; nothing if backward lacks a value.
std::optional<std::pair<int64_t, int64_t>> judge(const Nodes &nodes,
                                                 unsigned kept) {
  std::vector<bool> isUsed(nodes.size());
  int64_t bytes = 0, work = 0;
  for (unsigned number = nodes.size(); number-- > 0;) {
    const ResidualNode &node = nodes[number];
    if (!node.isNeeded && !isUsed[number])
      continue;
    if (kept >> number & 1) {
      bytes += node.bytes;
      continue;
    }
    if (!node.work)
      return std::nullopt;
    work += *node.work;
    for (unsigned operand : node.operands)
      isUsed[operand] = true;
  }
  return std::pair(bytes, work);
}

unsigned getBits(const std::vector<bool> &bits) {
  unsigned result = 0;
  for (unsigned bit = 0; bit < bits.size(); ++bit)
    result |= unsigned(bits[bit]) << bit;
  return result;
}

TEST(Residuals, FitWithTheLeastWork) {
  std::mt19937 random(7);
  unsigned numExact = 0, numFitting = 0;
  for (unsigned round = 0; round < 500; ++round) {
    const Nodes nodes = drawGraph(random);
    const int64_t budget = random() % 120;
    std::optional<int64_t> least;
    for (unsigned kept = 0; kept < 1u << nodes.size(); ++kept)
      if (auto costs = judge(nodes, kept); costs && costs->first <= budget)
        least = std::min(least.value_or(costs->second), costs->second);
    const auto found = fitResiduals(nodes, budget);
    ASSERT_EQ(found.has_value(), least.has_value()) << "round " << round;
    if (!found)
      continue;
    ++numFitting;
    const auto costs = judge(nodes, getBits(found->choice.kept));
    ASSERT_TRUE(costs) << "round " << round;
    EXPECT_EQ(costs->first, found->choice.bytes);
    EXPECT_EQ(costs->second, found->choice.work);
    EXPECT_LE(costs->first, budget);
    EXPECT_EQ(found->choice.work, *least) << "round " << round;
    numExact += found->leastWork == *least;
    // Stopped at once, what it says of itself holds.
    const auto quick = fitResiduals(nodes, budget, /*steps=*/0);
    EXPECT_LE(quick->leastWork, *least);
    EXPECT_GE(quick->choice.work, *least);
  }
  EXPECT_GT(numFitting, 200u);
  EXPECT_EQ(numExact, numFitting);
}

/// For every price the choice costs least.
TEST(Residuals, CostLeastForAPrice) {
  std::mt19937 random(8);
  for (unsigned round = 0; round < 200; ++round) {
    const Nodes nodes = drawGraph(random);
    const double price = 0.25 * (random() % 16);
    std::optional<double> least;
    for (unsigned kept = 0; kept < 1u << nodes.size(); ++kept)
      if (auto costs = judge(nodes, kept)) {
        const double cost = price * costs->first + costs->second;
        least = std::min(least.value_or(cost), cost);
      }
    const ResidualChoice choice = chooseResiduals(nodes, price);
    EXPECT_DOUBLE_EQ(price * choice.bytes + choice.work, *least)
        << "round " << round;
  }
}

/// Twelve equal layers: as many run again as the budget asks for, which no one
/// price of a byte yields, nor needs a search.
TEST(Residuals, MixEqualLayers) {
  Nodes nodes;
  for (unsigned layer = 0; layer < 12; ++layer) {
    const unsigned first = nodes.size();
    nodes.push_back({/*bytes=*/10, /*work=*/std::nullopt, {}, true});
    nodes.push_back({100, 1000, {first}, true});
    nodes.push_back({50, 10, {first + 1}, true});
  }
  const auto found = fitResiduals(nodes, 12 * 10 + 5 * 100 + 30, /*steps=*/0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->choice.work, 7 * 1000 + 12 * 10);
  EXPECT_GE(found->leastWork, found->choice.work - 1000); // part of a layer
  EXPECT_FALSE(fitResiduals(nodes, 12 * 10 - 1));
}

/// A chain as long as unrolled models have; nothing may take a call per value.
TEST(Residuals, FollowLongChains) {
  Nodes nodes = {{/*bytes=*/10, /*work=*/std::nullopt, {}, false}};
  for (unsigned number = 1; number < 300000; ++number)
    nodes.push_back({20, 0, {number - 1}, false});
  nodes.back().isNeeded = true;
  const ResidualChoice choice = chooseResiduals(nodes, 1.0);
  EXPECT_EQ(choice.bytes, 10);
  EXPECT_TRUE(choice.kept[0]);
}

} // namespace
