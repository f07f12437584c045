//===- Mesh.h - ranks, coordinates, groups and edges ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of an artifact's mesh. Ranks are numbered row-major over the
// axes of kind `space` and `stage`, in mesh order; axes of kind `time` do not
// multiply devices, and every rank has coordinate 0 on them. Everything here
// is computed from strides: no table grows with the number of ranks.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_MESH_H
#define PPRT_MESH_H

#include "pprt/Ppx.h"
#include "pprt/Status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

class Mesh {
public:
  /// Fails (badArtifact) on an axis without devices, a second stage axis, more
  /// than 64 axes, or more ranks or micro-batches than 32 bits count.
  static Expected<Mesh>
  create(const std::vector<std::unique_ptr<ppx::AxisT>> &axes);

  uint32_t worldSize() const { return ranks; }
  uint32_t axisCount() const { return uint32_t(dimensions.size()); }

  /// The coordinate of `rank` on mesh axis `axis`.
  uint32_t coordinate(uint32_t rank, uint32_t axis) const {
    return rank / dimensions[axis].stride % dimensions[axis].extent;
  }
  /// Returns the coordinate of a micro-batch on time axis `axis`; micro-batches
  /// are numbered row-major over the time axes.
  uint32_t timeCoordinate(uint32_t microBatch, uint32_t axis) const {
    return microBatch / dimensions[axis].partStride % dimensions[axis].parts;
  }
  /// Returns the product of the time axes.
  uint32_t microBatchCount() const { return microBatches; }
  bool isTime(uint32_t axis) const { return dimensions[axis].time; }
  /// Returns the micro-batches along a time axis; 1 for other axes.
  uint32_t partCount(uint32_t axis) const { return dimensions[axis].parts; }
  /// Returns one coordinate per mesh axis, in mesh order.
  std::vector<uint32_t> coordinates(uint32_t rank) const;

  /// Returns the axis of kind `stage`, if the mesh has one.
  std::optional<uint32_t> stageAxis() const { return stages; }
  uint32_t stageCount() const {
    return stages ? dimensions[*stages].extent : 1;
  }
  uint32_t stage(uint32_t rank) const {
    return stages ? coordinate(rank, *stages) : 0;
  }
  /// Returns the other end of a send or receive: the rank with the coordinates
  /// of `rank` on every axis but the stage, where it has `stage`.
  uint32_t peer(uint32_t rank, uint32_t stage) const;

  /// Fails (badArtifact) unless the axes of `group` exist, differ and are no
  /// time axes, and its stages exist and ascend. The functions below assume it.
  Status verify(const ppx::GroupT &group) const;

  /// Returns whether the group's stage filter keeps `rank`.
  bool contains(const ppx::GroupT &group, uint32_t rank) const;
  /// Returns the members of the group's instance that holds `rank`, row-major
  /// over `group.axes`. Empty if the group does not contain `rank`.
  std::vector<uint32_t> members(const ppx::GroupT &group, uint32_t rank) const;
  /// Returns the number of members of each instance.
  uint32_t memberCount(const ppx::GroupT &group) const;
  /// Returns the rank's position in members(). Assumes contains(group, rank).
  uint32_t memberIndex(const ppx::GroupT &group, uint32_t rank) const;
  /// Returns the first of members(), which names the instance, in time linear
  /// in the number of axes. Assumes contains(group, rank).
  uint32_t leader(const ppx::GroupT &group, uint32_t rank) const;

private:
  /// `extent` counts devices: 1 for a time axis, which has `parts` instead.
  struct Dimension {
    uint32_t extent = 1, stride = 1;
    uint32_t parts = 1, partStride = 1;
    bool time = false;
  };
  /// The coordinates on `axis` that the group keeps, in ascending order.
  std::vector<uint32_t> kept(const ppx::GroupT &group, uint32_t axis) const;

  std::vector<Dimension> dimensions;
  std::optional<uint32_t> stages;
  uint32_t ranks = 1, microBatches = 1;
};

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_MESH_H
