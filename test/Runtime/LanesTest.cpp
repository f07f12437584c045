//===- LanesTest.cpp - planned messages, and other libraries --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The conformance tests check the results of lanes. These tests check the cost
// of a large group for each member, cuts longer than a message, and that a
// library of another build is refused, whose lanes may differ.
//
//===----------------------------------------------------------------------===//
#include "collectives/mpi/Lanes.h"
#include "collectives/mpi/Plugin.h"

#include <gtest/gtest.h>

#include <climits>

using namespace pprt;
using namespace pprt::mpi;

namespace {

constexpr uint32_t kMembers = 300;

/// Returns the cuts that a member keeps, and the parts in them.
std::pair<size_t, size_t> sizeOf(const std::vector<Move> &moves) {
  const auto isHere = [](uint32_t other) { return other == 7; };
  const LaneList list = makeLanes(moves, 7, isHere, Limits());
  size_t parts = 0;
  for (const Cut &cut : list.cuts)
    parts += cut.sources.size() + cut.others.size();
  return {list.cuts.size(), parts};
}

TEST(Lanes, KeepWhatOneMemberDoesAlone) {
  Move sum;
  sum.region.run = 10 * kMembers;
  sum.element = ppx::ElementType_f32;
  std::vector<Move> gather;
  for (uint32_t member = 0; member < kMembers; ++member) {
    sum.sources.push_back({member, 0, 0});
    sum.targets.push_back({member, 0, 0});
  }
  for (uint32_t member = 0; member < kMembers; ++member) {
    gather.push_back(sum);
    gather.back().sources = {{member, 0, 0}};
  }
  const auto [sumCuts, sumParts] = sizeOf({sum});
  EXPECT_EQ(sumCuts, kMembers);
  EXPECT_LE(sumParts, 4 * kMembers);
  const auto [gatherCuts, gatherParts] = sizeOf(gather);
  EXPECT_LE(gatherCuts, 2 * kMembers);
  EXPECT_LE(gatherParts, 2 * kMembers);
}

// MPI counts in int, and no test has memory for so much.
TEST(Lanes, CutWhatIsLongerThanAMessage) {
  const uint64_t limit = Limits().messageBytes;
  EXPECT_LE(limit, uint64_t(INT_MAX));
  for (uint64_t bytes : {limit, limit + 1, 2 * limit, 5 * limit + 3})
    for (uint32_t member : {0, 1}) {
      const auto isHere = [&](uint32_t other) { return other == member; };
      const LaneList list =
          makeLanes(movesOfTransfer(bytes), member, isHere, Limits());
      ASSERT_EQ(list.lanes.size(), 1u);
      const Lane &lane = list.lanes[0];
      const uint64_t chunk =
          list.cuts[lane.cut].chunk * elementSize(list.cuts[lane.cut].element);
      EXPECT_LE(chunk, limit);
      // Covers all bytes and no more.
      EXPECT_GE(lane.chunks * chunk, bytes);
      EXPECT_LT((lane.chunks - 1) * chunk, bytes);
    }
}

TEST(Plugin, OfAnotherBuildIsRefused) {
  const auto opened = openWorld(PP_OTHER_PLUGIN);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.status().code(), ExitCode::usage);
  EXPECT_EQ(opened.status().message(),
            "'" PP_OTHER_PLUGIN "' expects a program of its own build, got "
            "another: install both from one");
}

} // namespace
