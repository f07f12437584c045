//===- LinksTest.cpp - links as plans spell them --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The closest come first; what is malformed is refused.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Topology.h"

#include <gtest/gtest.h>

using namespace pp::schedule;

TEST(Links, AreReadFromTheClosestOutwards) {
  Topology topology;
  topology.links = parseLinks("3e11:1e-6,5e10:0").value();
  ASSERT_EQ(topology.links.size(), 2u);
  EXPECT_EQ(topology.linkAt(0).bytesPerSecond, 3e11);
  EXPECT_EQ(topology.linkAt(0).latency, 1e-6);
  for (size_t behind : {1, 2, 7}) {
    EXPECT_EQ(topology.linkAt(behind).bytesPerSecond, 5e10);
    EXPECT_EQ(topology.linkAt(behind).latency, 0);
  }
  EXPECT_DOUBLE_EQ(topology.linkAt(0).messageSeconds(2, 3e11), 1 + 2e-6);
}

TEST(Links, AreThoseOfTheWholeOfADividedAxis) {
  Topology topology;
  topology.links = parseLinks("3e11:0,2e11:0,1e11:0").value();
  EXPECT_EQ(topology.linkAlong({"tp.0", "tp.1"}).bytesPerSecond, 3e11);
  EXPECT_EQ(topology.linkAlong({"dp", "tp.0", "tp.1"}).bytesPerSecond, 2e11);
  EXPECT_EQ(topology.linkAlong({"pp", "dp.0", "dp.1", "tp"}).bytesPerSecond,
            1e11);
  EXPECT_EQ(wholeAxisOf("tp.10"), "tp");
  for (const char *name : {"tp", ".1", "tp.", "tp.a"})
    EXPECT_EQ(wholeAxisOf(name), name);
}

TEST(Links, AllPartsOfAnAxisAreThatAxis) {
  const std::vector<std::string_view> mesh = {"dp", "tp.0", "tp.1", "sp"};
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(joinParts(mesh, mesh), (Names{"dp", "tp", "sp"}));
  EXPECT_EQ(joinParts({"tp.1"}, mesh), (Names{"tp.1"}));
  EXPECT_EQ(joinParts({"tp.0", "sp"}, mesh), (Names{"tp.0", "sp"}));
  EXPECT_EQ(joinParts({"tp.1", "tp.0"}, mesh), (Names{"tp.1", "tp.0"}));
  EXPECT_EQ(joinParts({"sp", "tp.0", "tp.1"}, mesh), (Names{"sp", "tp"}));
}

TEST(Links, ThatAreNoneAreRefused) {
  for (const char *text :
       {"",       "1",     "1e9",     "1e9:",    ":1",       "0:1",
        "-1:1",   "1:-1",  "1:1,",    ",1:1",    "1:1,,1:1", "1:1:1",
        "inf:0",  "nan:0", "1:inf",   "1e999:1", "1 :1",     "1:1 ",
        "0x10:1", "1e:1",  "1:1;1:1", "tp=1:1"})
    EXPECT_FALSE(parseLinks(text)) << text;
}

TEST(Rates, AreThreeNumbers) {
  const std::optional<Rates> rates = parseRates("3e14:3e12:0");
  ASSERT_TRUE(rates);
  EXPECT_EQ(rates->flopsPerSecond, 3e14);
  EXPECT_EQ(rates->bytesPerSecond, 3e12);
  EXPECT_EQ(rates->launchSeconds, 0);
  for (const char *text :
       {"", "1", "1:1", "1:1:1:1", "0:1:1", "1:0:1", "1:1:-1", "1:1:", ":1:1",
        "1:1:1:", "nan:1:1", "1:1:1 "})
    EXPECT_FALSE(parseRates(text)) << text;
}
