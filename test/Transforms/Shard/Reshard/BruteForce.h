//===- BruteForce.h - The cheapest reshards, found another way -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Judges the cost of a plan: a shortest path over device maps, not over
// shardings. The planner and this judge share the field's cost formulas and no
// code.
//
//===----------------------------------------------------------------------===//

#ifndef PP_TEST_TRANSFORMS_SHARD_RESHARD_BRUTEFORCE_H
#define PP_TEST_TRANSFORMS_SHARD_RESHARD_BRUTEFORCE_H

#include "Cases.h"
#include "DeviceMap.h"

#include <map>

namespace pp::reshard::judge {

/// Where a permute may lead.
enum class Permutes {
  Named, ///< to the maps that are shardings: what a type in the IR can say
  All    ///< to any rearrangement of the devices; for tiny meshes
};

/// All device maps that collectives reach from the shardings of one case, and
/// the cheapest ways between them.
class BruteForce {
public:
  BruteForce(const Case &test, Permutes permutes);

  /// The number of a sharding's device map.
  int nodeOf(const TensorSharding &sharding) const;

  /// The least cost from `source` to every node, infinite where nothing leads,
  /// on ways that do not pass through `avoided`.
  std::vector<double> costsFrom(int source, int avoided = -1) const;

private:
  /// A collective's axes, major to minor, and its groups.
  struct Grouping {
    std::vector<int> axes;
    Groups groups;
  };
  /// Any permutation of the devices, and the axes along which it moves data.
  struct Rearrangement {
    std::vector<int> targetOf;
    std::vector<int> axes;
  };
  struct Edge {
    int target;
    double cost;
  };

  void findShardings();
  void findRearrangements();
  int nodeOf(const DeviceMap &map);
  void link(int node, const std::optional<DeviceMap> &target, double cost);
  void expand(int node);
  void expandNamedPermutes(int node);
  void expandAllPermutes(int node);
  bool isAnyFixed(const std::vector<int> &axes) const;
  double callCost(const DeviceMap &map, const std::vector<int> &axes,
                  double rounds, double share) const;

  const Case &test;
  Permutes permutes;
  std::vector<Grouping> groupings; ///< over every sequence of axes
  std::vector<Rearrangement> rearrangements;
  std::map<DeviceMap, int> nodes;
  std::vector<DeviceMap> maps;
  int namedCount = 0; ///< the first maps are the shardings
  std::vector<std::vector<Edge>> edges;
};

} // namespace pp::reshard::judge

#endif // PP_TEST_TRANSFORMS_SHARD_RESHARD_BRUTEFORCE_H
