//===- RowsTest.cpp - tests of some rows of a batch -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// From the loads of an artifact to the shards of ranks: a batch with only the
// rows that a process needs must fill them as the whole batch does.
//
//===----------------------------------------------------------------------===//
#include "pprt/Rows.h"
#include "engine/HostBuffers.h"
#include "pprt/host/Batches.h"

#include "gtest/gtest.h"

#include <cstring>
#include <optional>
#include <set>

using namespace pprt;

TEST(Rows, MergeWhatTouches) {
  Rows rows;
  EXPECT_EQ(rows.print(), "none");
  for (const RowRange range :
       {RowRange{8, 10}, {2, 4}, {6, 6}, {12, 13}, {4, 5}, {1, 2}})
    rows.add(range);
  EXPECT_EQ(rows.print(), "1 to 5, 8 to 10, 12 to 13");
  EXPECT_EQ(rows.count(), 7u);
  rows.add({3, 12});
  EXPECT_EQ(rows.print(), "1 to 13");
}

TEST(Rows, ContainAndSkip) {
  Rows rows(2, 4);
  rows.add({8, 10});
  EXPECT_TRUE(rows.contains(Rows()));
  EXPECT_TRUE(rows.contains(rows));
  EXPECT_TRUE(rows.contains(Rows(3, 4)));
  EXPECT_FALSE(rows.contains(Rows(3, 5)));
  EXPECT_FALSE(rows.contains(Rows(2, 10)));
  EXPECT_FALSE(Rows().contains(rows));
  EXPECT_EQ(rows.skippedBefore(2), 2u);
  EXPECT_EQ(rows.skippedBefore(3), 2u);
  EXPECT_EQ(rows.skippedBefore(8), 6u);
  EXPECT_EQ(rows.skippedBefore(9), 6u);
}

/// dp=2 in two micro-batches: each has four rows of the batch in two parts.
/// `rowsOfBatch` are padded to eight. They are the first dimension or the
/// second.
static ppx::ArtifactT makeLoader(uint64_t rowsOfBatch, bool isTimeMajor) {
  ppx::ArtifactT artifact;
  for (const auto &[name, kind] : {std::pair("microbatch", ppx::AxisKind_time),
                                   {"dp", ppx::AxisKind_space}}) {
    auto axis = std::make_unique<ppx::AxisT>();
    axis->name = name;
    axis->size = 2;
    axis->kind = kind;
    artifact.axes.push_back(std::move(axis));
  }
  auto tokens = std::make_unique<ppx::ArgumentT>();
  tokens->name = "tokens";
  tokens->role = ppx::Role_input;
  tokens->element = ppx::ElementType_i32;
  tokens->shape = {rowsOfBatch, 3};
  tokens->padded_shape = {8, 3};
  tokens->batch = isTimeMajor;
  for (const std::vector<uint32_t> &axes :
       {std::vector<uint32_t>{0, 1}, std::vector<uint32_t>()}) {
    tokens->sharding.push_back(std::make_unique<ppx::DimensionAxesT>());
    tokens->sharding.back()->axes = axes;
  }
  if (isTimeMajor)
    for (auto *shape : {&tokens->shape, &tokens->padded_shape})
      std::swap((*shape)[0], (*shape)[1]);
  if (isTimeMajor)
    std::swap(tokens->sharding[0], tokens->sharding[1]);
  artifact.arguments.push_back(std::move(tokens));
  artifact.programs.push_back(std::make_unique<ppx::ProgramT>());
  artifact.programs[0]->ranks = {0, 1};
  auto load = std::make_unique<ppx::InstructionT>();
  load->opcode = ppx::Opcode_load;
  ppx::ProgramT &program = *artifact.programs[0];
  program.routines.push_back(std::make_unique<ppx::RoutineT>());
  program.routines[0]->instructions.push_back(std::move(load));
  for (int32_t microBatch : {0, 1}) {
    program.body.push_back(std::make_unique<ppx::CallT>());
    program.body.back()->micro_batch = microBatch;
  }
  return artifact;
}

static std::string printLoaded(uint64_t rowsOfBatch, RankRange ranks) {
  std::set<std::string> printed;
  for (bool isTimeMajor : {false, true}) {
    const ppx::ArtifactT artifact = makeLoader(rowsOfBatch, isTimeMajor);
    printed.insert(
        rowsLoaded(artifact, *Mesh::create(artifact.axes), ranks)[0].print());
  }
  return printed.size() == 1 ? *printed.begin() : "differ";
}

TEST(Rows, OfRanksAreThoseOfTheirMicroBatches) {
  EXPECT_EQ(printLoaded(8, {0, 1}), "0 to 2, 4 to 6");
  EXPECT_EQ(printLoaded(8, {1, 2}), "2 to 4, 6 to 8");
  EXPECT_EQ(printLoaded(8, {0, 2}), "0 to 8");
  // Padding is no row: here all that rank 1 loads last, or at all.
  EXPECT_EQ(printLoaded(6, {1, 2}), "2 to 4");
  EXPECT_EQ(printLoaded(5, {0, 1}), "0 to 2, 4 to 5");
  EXPECT_EQ(printLoaded(2, {1, 2}), "none");
}

/// Batches contain these rows, and every shard equals that of the whole batch.
static void expectShardsOfTheWhole(bool isTimeMajor) {
  ppx::ArtifactT bounded = makeLoader(7, isTimeMajor);
  bounded.arguments[0]->bound = 1000; // random data needs one
  const Mesh mesh = *Mesh::create(bounded.axes);
  const auto readFor = [&](std::optional<RankRange> ranks) {
    auto batches = host::Batches::open("random", bounded, {7});
    EXPECT_TRUE(batches) << batches.status().message();
    if (ranks)
      batches->keepFor(bounded, mesh, *ranks);
    host::Batch batch;
    EXPECT_TRUE(batches->read(3, batch).ok());
    HostBuffers buffers(bounded, mesh);
    EXPECT_EQ(batch[0].size(), batches->rows()[0].count() * 3 * 4);
    buffers.inputs[0].copy(batch[0].data(), batch[0].size());
    buffers.inputRows[0] = batches->rows()[0];
    return buffers;
  };
  for (uint32_t rank : {0, 1}) {
    HostBuffers whole = readFor({}), part = readFor(RankRange{rank, rank + 1});
    EXPECT_EQ(whole.inputRows[0].count(), 7u);
    EXPECT_EQ(part.inputRows[0].count(), rank == 0 ? 4u : 3u);
    for (const Instruction load :
         InstructionList(*bounded.programs[0], Section::body)) {
      std::vector<std::byte> expected(2 * 3 * 4, std::byte(1)),
          found = expected;
      ASSERT_TRUE(whole.load(rank, load, expected.data()).ok());
      ASSERT_TRUE(part.load(rank, load, found.data()).ok());
      EXPECT_EQ(found, expected)
          << "rank " << rank << ", micro-batch " << load.microBatch();
    }
  }
}

TEST(Rows, OfABatchFillTheShardsOfTheWhole) {
  expectShardsOfTheWhole(false);
  expectShardsOfTheWhole(true);
}
