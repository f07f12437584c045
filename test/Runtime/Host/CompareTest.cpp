//===- CompareTest.cpp - Errors of tensors --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What --verify accepts as equal: on tensors of a few elements whose errors are
// known.
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Compare.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace pprt::host;

TEST(Compare, IsRelativeToTheTensor) {
  Worst worst;
  compareRelative({{"a", {3, 4}}, {"b", {100}}}, {{"a", {3, 5}}, {"b", {100}}},
                  worst);
  EXPECT_DOUBLE_EQ(worst.error, 1 / std::sqrt(34.));
  EXPECT_EQ(worst.tensor, "a");
}

TEST(Compare, MeasuresAVanishingTensorByTheOthers) {
  Worst worst;
  compareRelative({{"key.bias", {1e-9}}, {"w", {1}}},
                  {{"key.bias", {0}}, {"w", {1}}}, worst);
  EXPECT_NEAR(worst.error, 1e-5, 1e-9);
  EXPECT_EQ(worst.tensor, "key.bias");
}

// It is a sum of terms like those of the others, which round.
TEST(Compare, AGradientThatIsZeroMayRoundInF64) {
  Worst worst;
  compareRelative({{"key.bias", {6e-16, -3e-16}}, {"w", {1}}},
                  {{"key.bias", {-1e-16, 0}}, {"w", {1}}}, worst);
  EXPECT_LE(worst.error, 1e-10);
  compareRelative({{"key.bias", {1e-13, 0}}, {"w", {1}}},
                  {{"key.bias", {0, 0}}, {"w", {1}}}, worst);
  EXPECT_GT(worst.error, 1e-10);
}

TEST(Compare, FindsWhatIsNotFinite) {
  StepValues values;
  values.gradients = {{"w", {1, 2}}};
  values.states = {{"exp_avg.w", {0}}};
  EXPECT_EQ(findNonFinite(values), "");
  values.metrics["accuracy"] = {NAN};
  EXPECT_EQ(findNonFinite(values), "metric 'accuracy'");
  values.states["exp_avg.w"] = {-INFINITY};
  EXPECT_EQ(findNonFinite(values), "state 'exp_avg.w'");
  values.parameters["b"] = {0, NAN};
  EXPECT_EQ(findNonFinite(values), "parameter 'b'");
  values.gradients["w"][1] = INFINITY;
  EXPECT_EQ(findNonFinite(values), "gradient of 'w'");
  values.loss = NAN;
  EXPECT_EQ(findNonFinite(values), "loss");
}

TEST(Compare, AMissingTensorIsInfinitelyWrong) {
  for (const Values &ours :
       {Values{}, Values{{"w", {1}}}, Values{{"w", {NAN, NAN}}}}) {
    Worst worst;
    compareRelative(ours, {{"w", {1, 2}}}, worst);
    EXPECT_EQ(worst.error, INFINITY);
    Worst whole, unexplained;
    AdamComparison({}).compare(ours, {{"w", {1, 2}}}, whole, unexplained);
    EXPECT_EQ(whole.error, INFINITY);
    EXPECT_EQ(unexplained.error, INFINITY);
  }
}

namespace {

/// Compares one element after a step of Adam with lr 0.5.
struct OneStep {
  OneStep(double ourGradient, double judgedGradient, double ours,
          double judged) {
    AdamComparison adam({});
    adam.addGradients({{"w", {ourGradient}}}, {{"w", {judgedGradient}}}, 0.5);
    adam.compare({{"w", {ours}}}, {{"w", {judged}}}, whole, unexplained);
  }
  Worst whole, unexplained;
};

} // namespace

TEST(AdamComparison, LeavesTheRestToTheRelativeError) {
  const Values zero{{"key.bias", {1e-18}}, {"w", {1}}};
  AdamComparison adam({});
  adam.addGradients({{"key.bias", {-1e-18}}, {"w", {1}}}, zero, 0.5);
  auto errorOf = [&](double bias, double w) {
    Worst worst;
    compareRelative({{"key.bias", {bias}}, {"w", {w}}},
                    {{"key.bias", {0}}, {"w", {1}}}, worst, &adam);
    return worst.error;
  };
  EXPECT_EQ(errorOf(1e-3, 1), 0);
  EXPECT_NEAR(errorOf(1e-3, 1 + 1e-9), 1e-9, 1e-12);
  EXPECT_GT(errorOf(1.5, 1), 1e-3);
  EXPECT_EQ(errorOf(NAN, 1), INFINITY);
}

TEST(AdamComparison, ExplainsAVanishingGradientsSign) {
  const OneStep step(1e-12, -1e-12, -0.5, 0.5);
  EXPECT_EQ(step.whole.error, 2);
  EXPECT_EQ(step.unexplained.error, 0);
}

TEST(AdamComparison, ExplainsNoMoreThanTheGradientsDiffer) {
  const OneStep step(0.5 + 1e-8, 0.5, -0.45, -0.5);
  EXPECT_NEAR(step.whole.error, 0.1, 1e-12);
  EXPECT_NEAR(step.unexplained.error, 0.1, 1e-6);
}

TEST(AdamComparison, ExplainsNothingIfGradientsAreEqual) {
  const OneStep step(0, 0, 0.25, 0);
  EXPECT_EQ(step.unexplained.error, 0.5);
}

/// Rows of a table that are never looked up have no gradient, but still decay.
TEST(AdamComparison, ExplainsHardlyAnythingOfAnElementWithoutGradient) {
  for (double eps : {0.0, 1e-8}) {
    AdamComparison adam({eps});
    adam.addGradients({{"table", {1 + 1e-16 * 4, 0}}}, {{"table", {1, 0}}},
                      1e-3);
    Worst worst;
    compareRelative({{"table", {1, 5}}}, {{"table", {1, 5 - 1e-4}}}, worst,
                    &adam);
    if (eps > 0)
      EXPECT_NEAR(worst.error, 1e-4 / std::sqrt(26), 1e-8);
    else
      EXPECT_EQ(worst.error, 0);
  }
}

TEST(AdamComparison, ForgetsTheDifferenceOfAnEarlierStep) {
  AdamComparison adam({});
  adam.addGradients({{"w", {2}}}, {{"w", {1}}}, 1);
  adam.addGradients({{"w", {1}}}, {{"w", {1}}}, 1);
  Worst whole, unexplained;
  adam.compare({{"w", {0.25}}}, {{"w", {0}}}, whole, unexplained);
  EXPECT_EQ(unexplained.error, 0.25);
}

// While a learning rate warms up, a wrong update is as small as the rate.
TEST(AdamComparison, MeasuresByTheRateOfTheStep) {
  AdamComparison adam({});
  adam.addGradients({{"w", {1}}}, {{"w", {1}}}, 1e-6);
  Worst whole, unexplained;
  adam.compare({{"w", {1 + 1e-6}}}, {{"w", {1}}}, whole, unexplained);
  EXPECT_NEAR(unexplained.error, 1, 1e-6);
}

TEST(AdamComparison, LeavesOutAParametersOwnRounding) {
  AdamComparison adam({0, 0x1p-23});
  adam.addGradients({{"w", {1}}}, {{"w", {1}}}, 1e-7);
  Worst whole, unexplained;
  adam.compare({{"w", {1 + 0x1p-23}}}, {{"w", {1}}}, whole, unexplained);
  EXPECT_GT(whole.error, 1);
  EXPECT_EQ(unexplained.error, 0);
}

TEST(AdamComparison, KnowsRatesOfZero) {
  AdamComparison adam({});
  adam.addGradients({{"w", {1}}}, {{"w", {1}}}, 0);
  Worst whole, unexplained;
  adam.compare({{"w", {3}}}, {{"w", {3}}}, whole, unexplained);
  EXPECT_EQ(whole.error, 0);
}

namespace {

StepValues exampleStep() {
  return {
      2, {{"w", {1}}}, {{"w", {3}}}, {{"step", {1}}, {"exp_avg.w", {1e-9}}}};
}

bool isAccepted(const StepValues &ours, const StepValues &twin) {
  Comparison comparison({1e-4, 1e-4, 1e-4}, Adam());
  comparison.add("step 1", ours, twin, exampleStep(), 0.1);
  return comparison.isWithinBounds();
}

} // namespace

TEST(Comparison, AcceptsWhatIsEqual) {
  EXPECT_TRUE(isAccepted(exampleStep(), exampleStep()));
}

TEST(Comparison, FindsAWrongOneOfEveryClass) {
  StepValues loss = exampleStep(), gradient = loss, parameter = loss,
             state = loss;
  loss.loss = 2.001;
  gradient.gradients["w"] = {1.001};
  parameter.parameters["w"] = {3.001};
  state.states["exp_avg.w"] = {1.001e-9}; // small beside the other state
  for (const StepValues &wrong : {loss, parameter, state})
    EXPECT_FALSE(isAccepted(wrong, exampleStep()));
  EXPECT_FALSE(isAccepted(exampleStep(), gradient));
}

/// With a gradient that is off by d, its square is off by 2 d.
TEST(Comparison, AllowsASquareTwiceTheGradientsError) {
  for (const auto &[error, isRight] :
       {std::pair(1.9e-4, true), {2.1e-4, false}}) {
    StepValues step = exampleStep();
    step.states["exp_avg.w"] = {1e-9 * (1 + error)};
    EXPECT_EQ(isAccepted(step, exampleStep()), isRight) << error;
  }
}

namespace {

/// Gradients of one step: the partitioned one's, the yardstick's and f64's.
bool isAcceptedLow(const Values &ours, const Values &yardstick,
                   const Values &judged) {
  StepValues steps[3];
  steps[0].gradients = ours;
  steps[1].gradients = yardstick;
  steps[2].gradients = judged;
  LowPrecisionComparison comparison(1. / 256, std::nullopt);
  comparison.add(steps[0], steps[0], steps[1], steps[2], 0);
  comparison.finish();
  return comparison.isWithinBounds();
}

} // namespace

TEST(LowPrecisionComparison, AllowsTwiceTheYardsticksError) {
  EXPECT_TRUE(isAcceptedLow({{"w", {1.19}}}, {{"w", {1.1}}}, {{"w", {1}}}));
  EXPECT_FALSE(isAcceptedLow({{"w", {1.21}}}, {{"w", {1.1}}}, {{"w", {1}}}));
}

TEST(LowPrecisionComparison, ScalesAYardstickThatRoundsLess) {
  StepValues ours, yardstick, judged;
  yardstick.gradients["w"] = {1.01};
  judged.gradients["w"] = {1};
  for (auto [value, isAccepted] : {std::pair(1.07, true), {1.09, false}}) {
    ours.gradients["w"] = {value};
    LowPrecisionComparison comparison(1e-4, std::nullopt, /*scale=*/4);
    comparison.add(ours, ours, yardstick, judged, 0);
    comparison.finish();
    EXPECT_EQ(comparison.isWithinBounds(), isAccepted);
  }
}

TEST(LowPrecisionComparison, AcceptsNoErrorAboveTheMost) {
  StepValues ours, yardstick, judged;
  ours.gradients["w"] = {1.03};
  judged.gradients["w"] = {1};
  for (auto [error, most, bound] :
       {std::tuple(0.009, 1., 0.018), {0.016, 1., 0.032}, {0.5, 0.02, 0.02}}) {
    yardstick.gradients["w"] = {1 + error};
    LowPrecisionComparison comparison(1e-4, std::nullopt, /*scale=*/1, most);
    comparison.add(ours, ours, yardstick, judged, 0);
    comparison.finish();
    EXPECT_EQ(comparison.isWithinBounds(), bound > 0.03);
    EXPECT_NEAR(comparison.loosestBound(), bound, 1e-9);
  }
}

TEST(LowPrecisionComparison, KnowsThatTheYardstickMayBeLucky) {
  EXPECT_TRUE(isAcceptedLow({{"w", {1.007}}}, {{"w", {1}}}, {{"w", {1}}}));
  EXPECT_FALSE(isAcceptedLow({{"w", {1.009}}}, {{"w", {1}}}, {{"w", {1}}}));
  // Others of the class show what is usual.
  EXPECT_TRUE(isAcceptedLow({{"a", {1.05}}, {"b", {1.05}}, {"w", {1.05}}},
                            {{"a", {1.05}}, {"b", {1.05}}, {"w", {1}}},
                            {{"a", {1}}, {"b", {1}}, {"w", {1}}}));
}

TEST(LowPrecisionComparison, ATensorThatIsAllErrorHidesNoOther) {
  const Values judged{{"key.bias", {0}}, {"v", {1}}, {"w", {1}}};
  const Values yardstick{{"key.bias", {1e-3}}, {"v", {1.01}}, {"w", {1.01}}};
  EXPECT_TRUE(isAcceptedLow({{"key.bias", {-1e-3}}, {"v", {1}}, {"w", {1.01}}},
                            yardstick, judged));
  EXPECT_FALSE(isAcceptedLow({{"key.bias", {-1e-3}}, {"v", {1}}, {"w", {1.1}}},
                             yardstick, judged));
}

TEST(LowPrecisionComparison, AllowsASquareTwiceTheLeastError) {
  for (const auto &[error, isRight] :
       {std::pair(0.039, true), {0.041, false}}) {
    StepValues ours, judged;
    ours.states["exp_avg_sq.w"] = {1 + error};
    judged.states["exp_avg_sq.w"] = {1};
    LowPrecisionComparison comparison(0.01, std::nullopt);
    comparison.add(ours, ours, judged, judged, 0);
    comparison.finish();
    EXPECT_EQ(comparison.isWithinBounds(), isRight) << error;
  }
}

// A miscompiled program is wrong on one device, too.
TEST(LowPrecisionComparison, AYardstickCountsAsFarAsRoundingExplains) {
  StepValues wrong, judged, rounded;
  wrong.gradients["w"] = {2};
  judged.gradients["w"] = {1};
  for (auto [error, isAccepted] : {std::pair(0.1, true), {1e-4, false}}) {
    rounded.gradients["w"] = {1 + error};
    LowPrecisionComparison comparison(1e-4, std::nullopt);
    comparison.add(wrong, wrong, wrong, judged, 0, &rounded);
    comparison.finish();
    EXPECT_EQ(comparison.isWithinBounds(), isAccepted);
  }
}

TEST(LowPrecisionComparison, WhatIsNoNumberIsWrong) {
  EXPECT_FALSE(isAcceptedLow({{"w", {NAN}}}, {{"w", {1}}}, {{"w", {1}}}));
  EXPECT_FALSE(isAcceptedLow({{"w", {NAN}}}, {{"w", {NAN}}}, {{"w", {1}}}));
  EXPECT_FALSE(isAcceptedLow({}, {{"w", {1}}}, {{"w", {1}}}));
}

namespace {

/// A parameter after a step of Adam with lr 0.5 whose gradient is 1 in f64.
LowPrecisionComparison compareAfterAdam(double gradient, double parameter) {
  StepValues ours, yardstick;
  ours.gradients["w"] = {gradient};
  ours.parameters["w"] = {parameter};
  yardstick.gradients["w"] = {1};
  yardstick.parameters["w"] = {-2};
  LowPrecisionComparison comparison(1. / 256, Adam());
  comparison.add(ours, ours, yardstick, yardstick, 0.5);
  comparison.finish();
  return comparison;
}

} // namespace

TEST(LowPrecisionComparison, LeavesOutWhatAdamMakesOfTheGradients) {
  const LowPrecisionComparison explained = compareAfterAdam(-1, -1);
  EXPECT_TRUE(explained.parameters.isWithinBound());
  EXPECT_EQ(explained.parameters.error, 0);
  EXPECT_EQ(explained.wholeUpdates.error, 0.5);
  EXPECT_EQ(explained.wholeUpdates.tensor, "w");
  EXPECT_FALSE(compareAfterAdam(1, -1).parameters.isWithinBound());
}
