//===- FuzzingTest.cpp - files with some numbers changed ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A short run of what the fuzz target does for hours, without coverage: inputs
// are drawn from a fixed seed.
//
//===----------------------------------------------------------------------===//
#include "Fuzzing.h"

#include <gtest/gtest.h>

using namespace pprt::test;

TEST(Fuzzing, SmallFiles) {
  constexpr int kFiles = 200, kInputs = 100;
  std::mt19937_64 random(7);
  int fates[4] = {};
  for (int file = 0; file < kFiles; ++file) {
    const std::vector<uint8_t> whole = smallContent(uint64_t(file));
    ASSERT_EQ(tryContent(whole.data(), whole.size()).fate,
              FuzzVerdict::finished);
    for (int i = 0; i < kInputs; ++i) {
      std::vector<uint8_t> input = whole;
      for (uint64_t more = 1 + random() % 2; more > 0; --more)
        (random() % 2 ? damage : damageTogether)(input.data(), input.size(),
                                                 random);
      const FuzzVerdict verdict = tryContent(input.data(), input.size());
      EXPECT_EQ(verdict.fault, "") << "file " << file << ", input " << i;
      ++fates[verdict.fate];
    }
  }
  std::printf("of %d inputs %d cannot be read, %d are refused by a check, %d "
              "are accepted and large, %d run\n",
              kFiles * kInputs, fates[0], fates[1], fates[2], fates[3]);
  for (FuzzVerdict::Fate fate :
       {FuzzVerdict::unreadable, FuzzVerdict::refused, FuzzVerdict::finished})
    EXPECT_GE(fates[fate], 200);
}
