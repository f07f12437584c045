//===- Groups.h - The device groups of a collective -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the two judges of the reshard planner, and by nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef PP_TEST_TRANSFORMS_SHARD_RESHARD_GROUPS_H
#define PP_TEST_TRANSFORMS_SHARD_RESHARD_GROUPS_H

#include "pp/Transforms/Shard/ReshardPlanner.h"

#include <algorithm>
#include <map>

namespace pp::reshard::judge {

inline int deviceCount(const Mesh &mesh) {
  int count = 1;
  for (const MeshAxis &axis : mesh)
    count *= static_cast<int>(axis.size);
  return count;
}

/// The coordinate of a device on every axis.
inline std::vector<int> coordinatesOf(const Mesh &mesh, int device) {
  std::vector<int> coordinates(mesh.size());
  for (size_t axis = mesh.size(); axis-- > 0;) {
    int size = static_cast<int>(mesh[axis].size);
    coordinates[axis] = device % size;
    device /= size;
  }
  return coordinates;
}

/// The row-major number of a device's coordinates on `axes`.
inline int numberAlong(const Mesh &mesh, int device,
                       const std::vector<int> &axes) {
  std::vector<int> coordinates = coordinatesOf(mesh, device);
  int number = 0;
  for (int axis : axes)
    number = number * static_cast<int>(mesh[axis].size) + coordinates[axis];
  return number;
}

/// The devices that agree on every coordinate outside `axes`, each group in
/// member order.
inline std::vector<std::vector<int>> groupsAlong(const Mesh &mesh,
                                                 const std::vector<int> &axes) {
  std::map<std::vector<int>, std::vector<int>> groups;
  for (int device = 0; device < deviceCount(mesh); ++device) {
    std::vector<int> outside = coordinatesOf(mesh, device);
    for (int axis : axes)
      outside[axis] = 0;
    groups[outside].push_back(device);
  }
  std::vector<std::vector<int>> result;
  for (auto &[outside, members] : groups) {
    std::sort(members.begin(), members.end(), [&](int a, int b) {
      return numberAlong(mesh, a, axes) < numberAlong(mesh, b, axes);
    });
    result.push_back(members);
  }
  return result;
}

} // namespace pp::reshard::judge

#endif // PP_TEST_TRANSFORMS_SHARD_RESHARD_GROUPS_H
