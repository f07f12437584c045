//===- BlockingTest.cpp - blocks of matrix products -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Checks only how a product would be cut; nothing is multiplied.
//
//===----------------------------------------------------------------------===//
#include "targets/cpu/Blocking.h"

#include <array>
#include <gtest/gtest.h>

using namespace pprt::cpu;

namespace {

/// Dense matrices of rows.
BlockingProblem dense(uint64_t rows, uint64_t columns, uint64_t steps) {
  return {1,
          rows,
          columns,
          steps,
          {steps, 1},
          {columns, 1},
          {columns, 1},
          /*mayReadLhs=*/true,
          /*mayReadRhs=*/true,
          /*mayWrite=*/true,
          {512, 512, /*wholeColumns=*/2048}};
}

TEST(Blocking, CutsOnlyRowsOfDenseMatrices) {
  const Blocking blocking = Blocking::choose(dense(2048, 768, 256));
  EXPECT_TRUE(blocking.columns.isWhole());
  EXPECT_GE(blocking.rows.count(), 4u);
  EXPECT_TRUE(blocking.lhs.inPlace && blocking.rhs.inPlace &&
              blocking.outInPlace);
}

TEST(Blocking, ReadsTransposedFactorsWhereTheyLie) {
  BlockingProblem problem = dense(2048, 256, 1024);
  problem.rhs = {1, 1024};
  const Blocking blocking = Blocking::choose(problem);
  EXPECT_TRUE(blocking.rhs.inPlace && blocking.rhs.transposed);
}

TEST(Blocking, LoadsRowsWithGapsForALibraryThatWantsDense) {
  BlockingProblem problem = dense(128, 128, 32);
  problem.items = 128;
  problem.lhs = {768, 1};
  EXPECT_FALSE(Blocking::choose(problem).lhs.inPlace);
  problem.limits.wholeColumns = 0;
  EXPECT_TRUE(Blocking::choose(problem).lhs.inPlace);
}

TEST(Blocking, CutsStepsWhereTheStrideOfRhsEnds) {
  // Nine taps of 64 steps each, in columns.
  BlockingProblem problem = dense(2048, 32, 9 * 64);
  problem.limits.wholeColumns = 0;
  problem.mayReadLhs = false;
  problem.rhs = {1, 64};
  EXPECT_FALSE(Blocking::choose(problem).rhs.inPlace);
  problem.stepsAlike = 64;
  const Blocking blocking = Blocking::choose(problem);
  EXPECT_EQ(blocking.steps.block, 64u);
  EXPECT_TRUE(blocking.rhs.inPlace && blocking.rhs.transposed);
}

TEST(Blocking, BoundsWhatIsLoadedAtATime) {
  BlockingProblem problem = dense(1024, 256, 1 << 20);
  problem.lhs = {1, 1024};
  const Blocking blocking = Blocking::choose(problem);
  EXPECT_FALSE(blocking.lhs.inPlace);
  EXPECT_LE(blocking.rows.block * blocking.steps.block, uint64_t(1) << 19);
}

// The library packs one factor once for each block of the other: the larger one
// is cut where the left matrix is in columns.
TEST(Blocking, CutsTheLargerFactorOfAWeightGradient) {
  for (const auto &[rows, columns] : {std::pair(256, 1024), {1024, 256}}) {
    BlockingProblem problem = dense(rows, columns, 2048);
    problem.lhs = {1, uint64_t(rows)};
    const Blocking blocking = Blocking::choose(problem);
    EXPECT_EQ(blocking.rows.block, 256u);
    EXPECT_EQ(blocking.columns.block, 256u);
  }
}

// Even if nothing needs to be loaded: libraries count in 32 bits.
TEST(Blocking, BoundsTheStepsOfAProduct) {
  BlockingProblem problem = dense(1, 1, uint64_t(1) << 33);
  problem.lhs = {1, 1};
  const Blocking blocking = Blocking::choose(problem);
  EXPECT_TRUE(blocking.lhs.inPlace && blocking.rhs.inPlace);
  EXPECT_LE(blocking.steps.block, uint64_t(1) << 30);
}

TEST(Blocking, TakesMatricesWithoutElements) {
  for (uint64_t wholeColumns : {0, 2048})
    for (auto [rows, columns, steps] :
         {std::array<uint64_t, 3>{0, 5, 3}, {6, 0, 3}, {6, 5, 0}, {0, 0, 0}}) {
      BlockingProblem problem = dense(rows, columns, steps);
      problem.limits.wholeColumns = wholeColumns;
      const Blocking blocking = Blocking::choose(problem);
      EXPECT_EQ(blocking.rows.count(), 1u);
      EXPECT_EQ(blocking.columns.count(), 1u);
    }
}

TEST(Blocking, CoversEverythingOnce) {
  for (uint64_t size : {1, 15, 16, 511, 513, 2049, 5000}) {
    const Blocking blocking = Blocking::choose(dense(size, size, size));
    for (const Cut &cut : {blocking.rows, blocking.columns, blocking.steps}) {
      uint64_t end = 0;
      for (uint64_t i = 0; i < cut.count(); ++i) {
        EXPECT_EQ(cut.at(i).begin, end);
        EXPECT_GT(cut.at(i).size(), 0u);
        end = cut.at(i).end;
      }
      EXPECT_EQ(end, size);
    }
  }
}

} // namespace
