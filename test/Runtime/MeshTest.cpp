//===- MeshTest.cpp - ranks, coordinates, groups and edges ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Against numbers written down by hand, and against each other.
//
//===----------------------------------------------------------------------===//
#include "pprt/Mesh.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace pprt;

namespace {

using Axes = std::vector<std::unique_ptr<ppx::AxisT>>;

void addAxis(Axes &axes, const char *name, uint32_t size, ppx::AxisKind kind) {
  axes.push_back(std::make_unique<ppx::AxisT>());
  axes.back()->name = name;
  axes.back()->size = size;
  axes.back()->kind = kind;
}

/// mb=8 (time), pp=4 (stage), dp=2, tp=3: 24 ranks.
Axes fourAxes() {
  Axes axes;
  addAxis(axes, "mb", 8, ppx::AxisKind_time);
  addAxis(axes, "pp", 4, ppx::AxisKind_stage);
  addAxis(axes, "dp", 2, ppx::AxisKind_space);
  addAxis(axes, "tp", 3, ppx::AxisKind_space);
  return axes;
}

ppx::GroupT group(std::vector<uint32_t> axes,
                  std::vector<uint32_t> stages = {}) {
  ppx::GroupT result;
  result.axes = std::move(axes);
  result.stages = std::move(stages);
  return result;
}

TEST(Mesh, RanksAreRowMajorAndTimeCountsNoDevices) {
  Expected<Mesh> mesh = Mesh::create(fourAxes());
  ASSERT_TRUE(mesh.ok()) << mesh.status().message();
  EXPECT_EQ(mesh->worldSize(), 24u);
  EXPECT_EQ(mesh->stageAxis(), 1u);
  EXPECT_EQ(mesh->stageCount(), 4u);
  // 23 = ((3 * 2) + 1) * 3 + 2
  EXPECT_EQ(mesh->coordinates(23), (std::vector<uint32_t>{0, 3, 1, 2}));
  EXPECT_EQ(mesh->coordinates(7), (std::vector<uint32_t>{0, 1, 0, 1}));
  EXPECT_EQ(mesh->stage(7), 1u);
  EXPECT_EQ(mesh->peer(7, 3), 19u);
  EXPECT_EQ(mesh->peer(19, 0), 1u);
}

TEST(Mesh, MicroBatchesAreRowMajorOverTheTimeAxes) {
  Axes axes;
  addAxis(axes, "outer", 1u << 15, ppx::AxisKind_time);
  addAxis(axes, "dp", 2, ppx::AxisKind_space);
  addAxis(axes, "inner", (1u << 16) - 1, ppx::AxisKind_time);
  Expected<Mesh> mesh = Mesh::create(axes);
  ASSERT_TRUE(mesh.ok()) << mesh.status().message();
  EXPECT_EQ(mesh->timeCoordinate(3 * 65535 + 7, 0), 3u);
  EXPECT_EQ(mesh->timeCoordinate(3 * 65535 + 7, 2), 7u);
  axes[2]->size = 1u << 16;
  mesh = Mesh::create(axes);
  ASSERT_FALSE(mesh.ok());
  EXPECT_EQ(mesh.status().message(),
            "mesh expects at most 2^31-1 micro-batches, got more at axis "
            "'outer'");
}

TEST(Mesh, AnEmptyMeshIsOneRank) {
  Expected<Mesh> mesh = Mesh::create({});
  ASSERT_TRUE(mesh.ok());
  EXPECT_EQ(mesh->worldSize(), 1u);
  EXPECT_EQ(mesh->stage(0), 0u);
  EXPECT_EQ(mesh->members(group({}), 0), (std::vector<uint32_t>{0}));
}

TEST(Mesh, TheOrderOfAGroupsAxesIsTheOrderOfItsMembers) {
  Expected<Mesh> mesh = Mesh::create(fourAxes());
  ASSERT_TRUE(mesh.ok());
  EXPECT_EQ(mesh->members(group({2, 3}), 8),
            (std::vector<uint32_t>{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(mesh->members(group({3, 2}), 8),
            (std::vector<uint32_t>{6, 9, 7, 10, 8, 11}));
  EXPECT_EQ(mesh->members(group({1}, {0, 3}), 1),
            (std::vector<uint32_t>{1, 19}));
  EXPECT_TRUE(mesh->members(group({1}, {0, 3}), 7).empty());
  // A filter on a stage axis that the group does not span.
  EXPECT_EQ(mesh->members(group({2}, {1}), 7), (std::vector<uint32_t>{7, 10}));
  EXPECT_TRUE(mesh->members(group({2}, {1}), 1).empty());
}

TEST(Mesh, MembersIndexAndLeaderAgree) {
  Expected<Mesh> mesh = Mesh::create(fourAxes());
  ASSERT_TRUE(mesh.ok());
  for (const ppx::GroupT &g :
       {group({}), group({2, 3}), group({3, 1}), group({1, 3}, {2, 0}),
        group({3}, {1, 2}), group({1, 2, 3}), group({1}, {3})})
    for (uint32_t rank = 0; rank < mesh->worldSize(); ++rank) {
      const std::vector<uint32_t> members = mesh->members(g, rank);
      EXPECT_EQ(members.empty(), !mesh->contains(g, rank));
      if (members.empty())
        continue;
      EXPECT_EQ(mesh->memberCount(g), members.size());
      EXPECT_EQ(mesh->leader(g, rank), members.front());
      ASSERT_LT(mesh->memberIndex(g, rank), members.size());
      EXPECT_EQ(members[mesh->memberIndex(g, rank)], rank);
    }
}

TEST(Mesh, RefusesBadAxesAndGroups) {
  Axes axes = fourAxes();
  axes[2]->size = 0;
  EXPECT_EQ(Mesh::create(axes).status().message(),
            "mesh axis 'dp' expects a size >= 1, got 0");
  axes = fourAxes();
  axes[2]->size = 1u << 31;
  EXPECT_EQ(Mesh::create(axes).status().message(),
            "mesh expects at most 2^32-1 ranks, got more at axis 'dp'");
  axes = fourAxes();
  axes[2]->kind = ppx::AxisKind_stage;
  EXPECT_EQ(Mesh::create(axes).status().code(), ExitCode::badArtifact);

  Expected<Mesh> mesh = Mesh::create(fourAxes());
  ASSERT_TRUE(mesh.ok());
  EXPECT_TRUE(mesh->verify(group({3, 1}, {0, 2})).ok());
  EXPECT_EQ(mesh->verify(group({4})).message(),
            "group expects axes below 4, got 4");
  EXPECT_EQ(mesh->verify(group({0})).message(),
            "group expects axes of devices, got time axis 0");
  EXPECT_EQ(mesh->verify(group({2, 2})).message(),
            "group expects each axis once, got axis 2 twice");
  EXPECT_EQ(mesh->verify(group({1}, {4})).message(),
            "group expects stages below 4, got 4");
  EXPECT_EQ(mesh->verify(group({1}, {3, 0})).message(),
            "group expects its stages in ascending order, got 0 after 3");
  EXPECT_EQ(mesh->verify(group({1}, {1, 1})).message(),
            "group expects its stages in ascending order, got 1 after 1");
}

} // namespace
