//===- Mesh.cpp - ranks, coordinates, groups and edges --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Mesh.h"

#include <algorithm>
#include <limits>

using namespace pprt;

static Status bad(std::string message) {
  return Status(ExitCode::badArtifact, std::move(message));
}

Expected<Mesh>
Mesh::create(const std::vector<std::unique_ptr<ppx::AxisT>> &axes) {
  // So that queries about a rank or a group take the same time in all files.
  constexpr size_t mostAxes = 64;
  if (axes.size() > mostAxes)
    return bad("mesh expects at most " + std::to_string(mostAxes) +
               " axes, got " + std::to_string(axes.size()));
  Mesh mesh;
  uint64_t ranks = 1, microBatches = 1;
  mesh.dimensions.resize(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    const ppx::AxisT &axis = *axes[i];
    if (axis.kind < ppx::AxisKind_MIN || axis.kind > ppx::AxisKind_MAX)
      return bad("mesh axis '" + axis.name +
                 "' expects kind space, stage or time, got " +
                 std::to_string(int(axis.kind)));
    if (axis.size == 0)
      return bad("mesh axis '" + axis.name + "' expects a size >= 1, got 0");
    Dimension &dimension = mesh.dimensions[i];
    dimension.time = axis.kind == ppx::AxisKind_time;
    dimension.stride = uint32_t(ranks);
    if (dimension.time) {
      dimension.parts = axis.size;
      dimension.partStride = uint32_t(microBatches);
      // Instructions number micro-batches from 0 in signed 32 bits.
      microBatches *= axis.size;
      if (microBatches > std::numeric_limits<int32_t>::max())
        return bad("mesh expects at most 2^31-1 micro-batches, got more at "
                   "axis '" +
                   axis.name + "'");
      continue;
    }
    dimension.extent = axis.size;
    ranks *= axis.size;
    if (ranks > std::numeric_limits<uint32_t>::max())
      return bad("mesh expects at most 2^32-1 ranks, got more at axis '" +
                 axis.name + "'");
    if (axis.kind != ppx::AxisKind_stage)
      continue;
    if (mesh.stages)
      return bad("mesh expects one stage axis, got '" + axis.name + "' and '" +
                 axes[*mesh.stages]->name + "'");
    mesh.stages = uint32_t(i);
  }
  mesh.ranks = uint32_t(ranks);
  mesh.microBatches = uint32_t(microBatches);
  return mesh;
}

std::vector<uint32_t> Mesh::coordinates(uint32_t rank) const {
  std::vector<uint32_t> result(dimensions.size());
  for (uint32_t axis = 0; axis < result.size(); ++axis)
    result[axis] = coordinate(rank, axis);
  return result;
}

uint32_t Mesh::peer(uint32_t rank, uint32_t stage) const {
  if (!stages)
    return rank;
  const uint32_t stride = dimensions[*stages].stride;
  return rank - coordinate(rank, *stages) * stride + stage * stride;
}

Status Mesh::verify(const ppx::GroupT &group) const {
  std::vector<bool> seen(dimensions.size());
  for (uint32_t axis : group.axes) {
    if (axis >= dimensions.size())
      return bad("group expects axes below " +
                 std::to_string(dimensions.size()) + ", got " +
                 std::to_string(axis));
    if (dimensions[axis].time)
      return bad("group expects axes of devices, got time axis " +
                 std::to_string(axis));
    if (seen[axis])
      return bad("group expects each axis once, got axis " +
                 std::to_string(axis) + " twice");
    seen[axis] = true;
  }
  for (size_t i = 0; i < group.stages.size(); ++i) {
    if (group.stages[i] >= stageCount())
      return bad("group expects stages below " + std::to_string(stageCount()) +
                 ", got " + std::to_string(group.stages[i]));
    if (i > 0 && group.stages[i] <= group.stages[i - 1])
      return bad("group expects its stages in ascending order, got " +
                 std::to_string(group.stages[i]) + " after " +
                 std::to_string(group.stages[i - 1]));
  }
  return {};
}

bool Mesh::contains(const ppx::GroupT &group, uint32_t rank) const {
  return group.stages.empty() ||
         std::binary_search(group.stages.begin(), group.stages.end(),
                            stage(rank));
}

std::vector<uint32_t> Mesh::kept(const ppx::GroupT &group,
                                 uint32_t axis) const {
  if (axis == stages && !group.stages.empty())
    return group.stages;
  std::vector<uint32_t> result;
  for (uint32_t i = 0; i < dimensions[axis].extent; ++i)
    result.push_back(i);
  return result;
}

std::vector<uint32_t> Mesh::members(const ppx::GroupT &group,
                                    uint32_t rank) const {
  if (!contains(group, rank))
    return {};
  uint32_t origin = rank;
  for (uint32_t axis : group.axes)
    origin -= coordinate(rank, axis) * dimensions[axis].stride;
  std::vector<uint32_t> result = {origin};
  for (uint32_t axis : group.axes) {
    std::vector<uint32_t> expanded;
    const std::vector<uint32_t> coordinates = kept(group, axis);
    expanded.reserve(result.size() * coordinates.size());
    for (uint32_t base : result)
      for (uint32_t coordinate : coordinates)
        expanded.push_back(base + coordinate * dimensions[axis].stride);
    result = std::move(expanded);
  }
  return result;
}

uint32_t Mesh::memberCount(const ppx::GroupT &group) const {
  uint32_t count = 1;
  for (uint32_t axis : group.axes)
    count *= axis == stages && !group.stages.empty()
                 ? uint32_t(group.stages.size())
                 : dimensions[axis].extent;
  return count;
}

uint32_t Mesh::memberIndex(const ppx::GroupT &group, uint32_t rank) const {
  uint32_t index = 0;
  for (uint32_t axis : group.axes) {
    const uint32_t own = coordinate(rank, axis);
    if (axis != stages || group.stages.empty()) {
      index = index * dimensions[axis].extent + own;
      continue;
    }
    // The position among the kept stages: how many of them lie below.
    index = index * uint32_t(group.stages.size()) +
            uint32_t(std::lower_bound(group.stages.begin(), group.stages.end(),
                                      own) -
                     group.stages.begin());
  }
  return index;
}

uint32_t Mesh::leader(const ppx::GroupT &group, uint32_t rank) const {
  uint32_t result = rank;
  for (uint32_t axis : group.axes) {
    uint32_t first = 0;
    if (axis == stages && !group.stages.empty())
      first = group.stages.front();
    result -= (coordinate(rank, axis) - first) * dimensions[axis].stride;
  }
  return result;
}
