//===- ShuffleTest.cpp - orders are bijections, and look random -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Counts of all kinds, also such as fill no power of two, and the largest.
//
//===----------------------------------------------------------------------===//
#include "host/Shuffle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <vector>

using namespace pprt::host;

TEST(Shuffle, EveryItemHasOnePlace) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> counts = {1, 2, 3, 4, 5, 7, 8, 9, 255, 256, 257, 4097};
  for (int i = 0; i < 60; ++i)
    counts.push_back(1 + random() % 3000);
  for (uint64_t count : counts) {
    const uint64_t seed = random(), epoch = random() % 5;
    const Shuffle shuffle(count, seed, epoch), again(count, seed, epoch);
    std::vector<bool> has(count);
    for (uint64_t place = 0; place < count; ++place) {
      const uint64_t item = shuffle[place];
      ASSERT_LT(item, count);
      EXPECT_FALSE(has[item]) << item << " of " << count << " twice";
      has[item] = true;
      EXPECT_EQ(item, again[place]);
    }
  }
  // The largest: a place is found without a search.
  const Shuffle all(UINT64_MAX, 3, 1);
  std::set<uint64_t> found;
  for (uint64_t place = 0; place < 1000; ++place)
    found.insert(all[UINT64_MAX - 1 - place]);
  EXPECT_EQ(found.size(), 1000u);
}

// Over seeds or epochs any item is as likely at a place as another, and
// neighbours do not stay together.
TEST(Shuffle, OrdersAreUnlike) {
  for (uint64_t count : {2, 3, 5, 8, 13, 100})
    for (bool bySeed : {false, true})
      for (uint64_t place : {uint64_t(0), count - 1}) {
        const uint64_t trials = 400 * count;
        std::vector<double> seen(count), next(count);
        for (uint64_t i = 0; i < trials; ++i) {
          const Shuffle shuffle(count, bySeed ? i : 9, bySeed ? 2 : i);
          ++seen[shuffle[place]];
          ++next[(shuffle[(place + 1) % count] + count - shuffle[place]) %
                 count];
        }
        double off = 0, offNext = std::pow(next[0], 2);
        for (uint64_t item = 0; item < count; ++item) {
          off += std::pow(seen[item] - 400, 2) / 400;
          const double wanted = double(trials) / double(count - 1);
          if (item > 0)
            offNext += std::pow(next[item] - wanted, 2) / wanted;
        }
        // Six deviations of chi-square.
        const double most = double(count) + 6 * std::sqrt(2. * double(count));
        EXPECT_LT(off, most) << count << " " << bySeed << " " << place;
        EXPECT_LT(offNext, most) << count << " " << bySeed << " " << place;
      }
}
