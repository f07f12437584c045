//===- PlacementTest.cpp - which GPU each rank has ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One GPU for all ranks of one process, else one for each: of what processes
// see together, of what each has for itself, and what is refused.
//
//===----------------------------------------------------------------------===//
#include "backends/cuda/Placement.h"

#include <gtest/gtest.h>

using namespace pprt;
using namespace pprt::cuda;

using Taken = std::vector<std::vector<int>>;

namespace {

/// GPUs `begin` to `end` - 1 of one model.
std::vector<SeenGpu> gpus(int begin, int end, const char *name = "H100") {
  std::vector<SeenGpu> result;
  for (int i = begin; i < end; ++i)
    result.push_back({"GPU-" + std::to_string(i), name});
  return result;
}

std::string messageOf(const std::vector<Sight> &processes) {
  const auto taken = placeRanks(processes);
  EXPECT_FALSE(taken.ok());
  EXPECT_EQ(taken.status().code(), ExitCode::device);
  return taken.status().message();
}

} // namespace

TEST(Placement, OneProcessSharesOneGpuOrTakesOneForEachRank) {
  EXPECT_EQ(*placeRanks({{{0, 1}, gpus(0, 1)}}), Taken({{0}}));
  EXPECT_EQ(*placeRanks({{{0, 8}, gpus(0, 1)}}), Taken({{0}}));
  EXPECT_EQ(*placeRanks({{{0, 1}, gpus(0, 8)}}), Taken({{0}}));
  EXPECT_EQ(*placeRanks({{{0, 3}, gpus(0, 4)}}), Taken({{0, 1, 2}}));
}

TEST(Placement, ProcessesThatSeeTheSameTakeBlocksOfIt) {
  EXPECT_EQ(*placeRanks({{{0, 1}, gpus(0, 8)}, {{1, 2}, gpus(0, 8)}}),
            Taken({{0}, {1}}));
  EXPECT_EQ(*placeRanks({{{0, 1}, gpus(0, 3)}, {{1, 3}, gpus(0, 3)}}),
            Taken({{0}, {1, 2}}));
}

TEST(Placement, ProcessesTakeWhatIsTheirOwn) {
  EXPECT_EQ(*placeRanks({{{0, 1}, gpus(4, 5)}, {{1, 2}, gpus(0, 1)}}),
            Taken({{0}, {0}}));
  // Two hosts of two processes each.
  EXPECT_EQ(*placeRanks({{{0, 1}, gpus(0, 2)},
                         {{1, 2}, gpus(0, 2)},
                         {{2, 3}, gpus(8, 10)},
                         {{3, 4}, gpus(8, 10)}}),
            Taken({{0}, {1}, {0}, {1}}));
}

TEST(Placement, RefusesTooFew) {
  EXPECT_EQ(messageOf({{{0, 8}, gpus(0, 2)}}),
            "expects 8 GPUs, one for each rank, or one that all ranks share "
            "(CUDA_VISIBLE_DEVICES=0), got 2 GPUs");
  EXPECT_EQ(messageOf({{{0, 1}, gpus(0, 1)}, {{1, 2}, gpus(0, 1)}}),
            "process 1 expects 1 GPU, one for each of its ranks, got 0 GPUs "
            "that no process before it has taken, of the 1 that it sees (look "
            "at CUDA_VISIBLE_DEVICES); give a smaller mesh, or start pp-run "
            "without mpirun where one GPU is to have all ranks");
}

TEST(Placement, RefusesSeveralModels) {
  std::vector<SeenGpu> mixed = gpus(0, 1);
  mixed.push_back({"GPU-9", "A100"});
  EXPECT_EQ(messageOf({{{0, 2}, mixed}}),
            "expects GPUs of one model, got 'H100' for rank 0 and 'A100' for "
            "rank 1; choose with CUDA_VISIBLE_DEVICES");
  // Who is not taken may be any.
  EXPECT_EQ(*placeRanks({{{0, 1}, mixed}}), Taken({{0}}));
}
