//===- IssueOrderTest.cpp - an order of commands for devices --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every program that passes the checks ends on every kind of device, with the
// same bits, if ranks issue in the order that the checks find. MutationsTest
// tests the same with mutants.
//
//===----------------------------------------------------------------------===//
#include "pprt/IssueOrder.h"
#include "ExecutionModel.h"
#include "Pipelines.h"
#include "pprt/Checks.h"

#include <gtest/gtest.h>

using namespace pprt;
using namespace pprt::test;
using reference::DeviceModel;

/// Two ranks that exchange tensors by a collective in each of two groups, each
/// in its own queue, in lists of opposite orders.
static ppx::ArtifactT makeOpposite() {
  ArtifactBuilder artifact;
  const uint32_t axis = artifact.axis("dp", 2);
  const uint32_t a = artifact.group({axis}), b = artifact.group({axis});
  for (uint32_t rank : {0, 1}) {
    ProgramBuilder program = artifact.program({rank});
    const uint32_t main = program.queue("main");
    const uint32_t queues[] = {program.queue("a"), program.queue("b")};
    const uint32_t slots[] = {program.slot("x", 4), program.slot("y", 4)};
    program.begin(Section::body);
    program.run(main, {}, {slots[0]});
    program.run(main, {}, {slots[1]});
    for (uint32_t which : {rank, 1 - rank})
      program.collective(queues[which], ppx::CollectiveKind_all_reduce,
                         which ? b : a, {slots[which]}, {slots[which]});
    program.step(main);
  }
  return artifact.take();
}

TEST(IssueOrder, EndsWhereTheListsWouldNot) {
  const ppx::ArtifactT artifact = makeOpposite();
  ASSERT_TRUE(checkArtifact(artifact).ok());
  const Expected<Mesh> mesh = Mesh::create(artifact.axes);
  const Ranks ranks(artifact, *mesh);
  const IssueOrder order(ranks, Section::body);
  EXPECT_EQ(order.of(0), (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(order.of(1), (std::vector<uint32_t>{0, 1, 3, 2, 4}));
  for (uint32_t index : {2, 3}) // those that meet
    EXPECT_EQ(order.unit(0, index), order.unit(1, 5 - index));

  reference::Options options = hashingOptions(0);
  options.model = DeviceModel::ordered;
  options.place = [](uint32_t, Section, uint32_t index) {
    return reference::IssuePlace(index, 0);
  };
  EXPECT_EQ(reference::execute(artifact, options).end, reference::End::stalled);
  options.place = [&](uint32_t rank, Section, uint32_t index) {
    return reference::IssuePlace(order.unit(rank, index).position, 0);
  };
  EXPECT_EQ(reference::execute(artifact, options).end,
            reference::End::finished);
}

/// Four ranks of one program on a shared device, in two instances of a group:
/// {0, 2} and {1, 3} meet at one position, and are two units.
TEST(IssueOrder, TellsInstancesOfAGroupApart) {
  ArtifactBuilder builder;
  const uint32_t dp = builder.axis("dp", 2);
  builder.axis("tp", 2);
  const uint32_t group = builder.group({dp});
  ProgramBuilder program = builder.program({0, 1, 2, 3});
  const uint32_t main = program.queue("main");
  const uint32_t slot = program.slot("x", 4);
  program.begin(Section::body);
  program.run(main, {}, {slot});
  program.collective(main, ppx::CollectiveKind_all_reduce, group, {slot},
                     {slot});
  program.step(main);
  const ppx::ArtifactT artifact = builder.take();
  ASSERT_TRUE(checkArtifact(artifact).ok());
  const Expected<Mesh> mesh = Mesh::create(artifact.axes);
  const Ranks ranks(artifact, *mesh);
  const IssueOrder order(ranks, Section::body);
  EXPECT_EQ(order.unit(0, 1), order.unit(2, 1));
  EXPECT_EQ(order.unit(1, 1), order.unit(3, 1));
  EXPECT_LT(order.unit(0, 1), order.unit(1, 1));
  EXPECT_LT(order.unit(0, 0), order.unit(1, 0)); // these meet no other rank

  reference::Options options =
      issuedOptions(artifact, DeviceModel::shared, /*seed=*/0);
  EXPECT_EQ(reference::execute(artifact, options).end,
            reference::End::finished);
  options.place = [&](uint32_t rank, Section, uint32_t index) {
    return reference::IssuePlace(order.unit(rank, index).position, 0);
  };
  const reference::Result result = reference::execute(artifact, options);
  EXPECT_EQ(result.end, reference::End::mismatched);
  EXPECT_NE(result.reason.find("is issued as one with what it does not meet"),
            std::string::npos)
      << result.reason;
}

TEST(IssueOrder, ComputesTheSameOnEveryDevice) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const ppx::ArtifactT artifact = makePipeline(randomShape(random));
    const reference::Result first =
        reference::execute(artifact, hashingOptions(seed));
    for (DeviceModel model : {DeviceModel::ordered, DeviceModel::shared}) {
      const reference::Result result =
          reference::execute(artifact, issuedOptions(artifact, model, seed));
      ASSERT_EQ(result.end, reference::End::finished) << result.reason;
      EXPECT_TRUE(result.races.empty() && result.clobbers.empty());
      EXPECT_TRUE(result.arenas == first.arenas &&
                  result.emitted == first.emitted);
    }
  }
}
