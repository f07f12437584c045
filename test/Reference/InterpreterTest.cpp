//===- InterpreterTest.cpp - the interpreter against hand-made values -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The interpreter judges everything else; here it is judged, op by op, by
// values that were worked out by hand.
//
//===----------------------------------------------------------------------===//
#include "Testing.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace pp::reference;
using pp::testing::Context;
using Values = std::vector<double>;

namespace {

TEST(Interpreter, ContractsOverAnyDimensions) {
  Context context;
  auto results = context.run(
      R"(
    func.func @main(%a: tensor<2x2x3xf64>, %b: tensor<3x2x2xf64>) -> tensor<2x2x2xf64> {
      %c = pp.dot_general %a, %b batch [0] x [2] contract [2] x [0]
        : tensor<2x2x3xf64>, tensor<3x2x2xf64> -> tensor<2x2x2xf64>
      return %c : tensor<2x2x2xf64>
    })",
      {context.tensor("2x2x3xf64", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
       context.tensor("3x2x2xf64", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})});
  ASSERT_EQ(results.size(), 1u);
  // c[n,i,j] = sum over k of a[n,i,k] * b[k,j,n].
  EXPECT_EQ(results[0].values, (Values{38, 50, 83, 113, 152, 200, 206, 272}));
}

TEST(Interpreter, MovesElements) {
  Context context;
  auto results = context.run(R"(
    func.func @main(%x: tensor<2x3xf64>) -> (tensor<3x2xf64>, tensor<2x2xf64>, tensor<4x3xf64>, tensor<2x6xf64>, tensor<2x4x3xf64>) {
      %z = pp.constant dense<-1.0> : tensor<f64>
      %t = pp.transpose %x perm [1, 0] : tensor<2x3xf64> -> tensor<3x2xf64>
      %s = pp.slice %x [0, 0], [2, 3], [1, 2] : tensor<2x3xf64> -> tensor<2x2xf64>
      %p = pp.pad %x, %z low [1, 0] high [0, 0] interior [1, 0] : tensor<2x3xf64>, tensor<f64> -> tensor<4x3xf64>
      %c = pp.concatenate %x, %x dim 1 : tensor<2x3xf64>, tensor<2x3xf64> -> tensor<2x6xf64>
      %b = pp.broadcast %x dims [0, 2] : tensor<2x3xf64> -> tensor<2x4x3xf64>
      return %t, %s, %p, %c, %b : tensor<3x2xf64>, tensor<2x2xf64>, tensor<4x3xf64>, tensor<2x6xf64>, tensor<2x4x3xf64>
    })",
                             {context.tensor("2x3xf64", {1, 2, 3, 4, 5, 6})});
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(results[0].values, (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(results[1].values, (Values{1, 3, 4, 6}));
  EXPECT_EQ(results[2].values,
            (Values{-1, -1, -1, 1, 2, 3, -1, -1, -1, 4, 5, 6}));
  EXPECT_EQ(results[3].values, (Values{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(results[4].values, (Values{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3,
                                       4, 5, 6, 4, 5, 6, 4, 5, 6, 4, 5, 6}));
}

TEST(Interpreter, IndicesOutsideAreClampedOrDropped) {
  Context context;
  auto results =
      context.run(R"(
    func.func @main(%x: tensor<3x2xf64>, %i: tensor<4xi32>, %u: tensor<4x2xf64>) -> (tensor<4x2xf64>, tensor<3x2xf64>) {
      %g = pp.gather %x[%i] batch 0 : tensor<3x2xf64>, tensor<4xi32> -> tensor<4x2xf64>
      %s = pp.scatter_add %x[%i], %u batch 0 : tensor<3x2xf64>, tensor<4xi32>, tensor<4x2xf64>
      return %g, %s : tensor<4x2xf64>, tensor<3x2xf64>
    })",
                  {context.tensor("3x2xf64", {1, 2, 3, 4, 5, 6}),
                   context.tensor("4xi32", {2, -1, 7, 2}),
                   context.tensor("4x2xf64", {1, 1, 2, 2, 3, 3, 4, 4})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].values, (Values{5, 6, 1, 2, 5, 6, 5, 6}));
  EXPECT_EQ(results[1].values, (Values{1, 2, 3, 4, 10, 11}));
}

TEST(Interpreter, ReducesScansAndPicks) {
  Context context;
  auto results = context.run(R"(
    func.func @main(%x: tensor<2x3xf64>) -> (tensor<3xf64>, tensor<2xf64>, tensor<2xi32>, tensor<2x3xf64>) {
      %s = pp.reduce sum %x dims [0] : tensor<2x3xf64> -> tensor<3xf64>
      %m = pp.reduce max %x dims [1] : tensor<2x3xf64> -> tensor<2xf64>
      %a = pp.argmax %x dim 1 : tensor<2x3xf64> -> tensor<2xi32>
      %c = pp.cumsum %x dim 1 reverse : tensor<2x3xf64>
      return %s, %m, %a, %c : tensor<3xf64>, tensor<2xf64>, tensor<2xi32>, tensor<2x3xf64>
    })",
                             {context.tensor("2x3xf64", {1, 5, 5, 4, -2, 0})});
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[0].values, (Values{5, 3, 5}));
  EXPECT_EQ(results[1].values, (Values{5, 4}));
  EXPECT_EQ(results[2].values, (Values{1, 0}));
  EXPECT_EQ(results[3].values, (Values{11, 10, 5, 2, -2, 0}));
}

TEST(Interpreter, FindsTheLargestFirstOnesFirst) {
  Context context;
  auto results =
      context.run(R"(
    func.func @main(%x: tensor<2x4xf64>) -> (tensor<2x3xi32>, tensor<1x4xi32>) {
      %r = pp.top_k %x dim 1 : tensor<2x4xf64> -> tensor<2x3xi32>
      %c = pp.top_k %x dim 0 : tensor<2x4xf64> -> tensor<1x4xi32>
      return %r, %c : tensor<2x3xi32>, tensor<1x4xi32>
    })",
                  {context.tensor("2x4xf64", {1, 5, 5, 4, 0, 7, -2, 7})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].values, (Values{1, 2, 3, 1, 3, 0}));
  EXPECT_EQ(results[1].values, (Values{0, 1, 0, 1}));
}

TEST(Interpreter, IntegersWrapAndDivideTowardsZero) {
  Context context;
  auto results = context.run(R"(
    func.func @main(%x: tensor<3xi32>, %y: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>) {
      %m = pp.mul %x, %y : tensor<3xi32>
      %d = pp.div %x, %y : tensor<3xi32>
      return %m, %d : tensor<3xi32>, tensor<3xi32>
    })",
                             {context.tensor("3xi32", {-7, 2147483647, 1}),
                              context.tensor("3xi32", {2, 2147483647, 0})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].values, (Values{-14, 1, 0}));
  EXPECT_EQ(results[1].values, (Values{-3, 1, -1}));
}

TEST(Interpreter, RoundsOnlyWhenAsked) {
  Context context;
  const char *text = R"(
    func.func @main(%x: tensor<2xf32>) -> tensor<2xbf16> {
      %c = pp.convert %x : tensor<2xf32> -> tensor<2xbf16>
      return %c : tensor<2xbf16>
    })";
  auto input = context.tensor("2xf32", {1.0 + 1.0 / 256, 3.4e38});
  EXPECT_EQ(context.run(text, {input})[0].values, input.values);
  // A tie goes to the even neighbour; what lies above the largest is infinite.
  EXPECT_EQ(context.run(text, {input}, {/*roundToElement=*/true})[0].values,
            (Values{1.0, INFINITY}));
}

TEST(Interpreter, RandomBitsArePhilox) {
  Context context;
  auto results =
      context.run(R"(
    func.func @main(%seed: tensor<i64>, %step: tensor<i32>, %o: tensor<i32>) -> (tensor<2x3xi32>, tensor<1x3xi32>) {
      %b = pp.random_bits %seed, %step stream 0 : tensor<i64>, tensor<i32> -> tensor<2x3xi32>
      %z = pp.constant dense<0> : tensor<i32>
      %p = pp.random_bits %seed, %step offsets(%o, %z : tensor<i32>, tensor<i32>) of [2, 3] stream 0
        : tensor<i64>, tensor<i32> -> tensor<1x3xi32>
      return %b, %p : tensor<2x3xi32>, tensor<1x3xi32>
    })",
                  {context.tensor("i64", {0}), context.tensor("i32", {0}),
                   context.tensor("i32", {1})});
  ASSERT_EQ(results.size(), 2u);
  // The first known answer of Random123 (all zero).
  EXPECT_EQ(results[0].values[0],
            static_cast<double>(static_cast<int32_t>(0x6627e8d5)));
  EXPECT_EQ(results[1].values,
            Values(results[0].values.begin() + 3, results[0].values.end()));
}

TEST(Interpreter, LaunchRunsItsCallee) {
  Context context;
  auto results = context.run(R"(
    func.func private @twice(%x: tensor<2xf64>) -> tensor<2xf64> {
      %y = pp.add %x, %x : tensor<2xf64>
      return %y : tensor<2xf64>
    }
    func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {
      %y = pp.launch @twice(%x) : (tensor<2xf64>) -> tensor<2xf64>
      return %y : tensor<2xf64>
    })",
                             {context.tensor("2xf64", {1, 2})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].values, (Values{2, 4}));
}

} // namespace
