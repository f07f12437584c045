//===- BruteForce.cpp - The cheapest reshards, found another way ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "BruteForce.h"

#include "Groups.h"

#include <limits>
#include <numeric>
#include <queue>

namespace pp::reshard::judge {

BruteForce::BruteForce(const Case &test, Permutes permutes)
    : test(test), permutes(permutes) {
  // Every sequence of different axes.
  std::vector<std::vector<int>> sequences{{}};
  for (size_t i = 0; i < sequences.size(); ++i)
    for (int axis = 0; axis < static_cast<int>(test.mesh.size()); ++axis) {
      std::vector<int> longer = sequences[i];
      if (std::find(longer.begin(), longer.end(), axis) != longer.end())
        continue;
      longer.push_back(axis);
      sequences.push_back(longer);
      groupings.push_back({longer, groupsAlong(test.mesh, longer)});
    }
  findShardings();
  if (permutes == Permutes::All)
    findRearrangements();
  for (int node = 0; node < static_cast<int>(maps.size()); ++node)
    expand(node);
}

/// The maps that are shardings: the whole tensor everywhere, as addends along
/// any axes, and whatever slicing makes of that.
void BruteForce::findShardings() {
  for (unsigned subset = 0; subset < 1u << test.mesh.size(); ++subset) {
    std::vector<int> partial;
    for (int axis = 0; axis < static_cast<int>(test.mesh.size()); ++axis)
      if (subset >> axis & 1)
        partial.push_back(axis);
    DeviceMap map;
    for (int device = 0; device < deviceCount(test.mesh); ++device) {
      Holding whole;
      for (int64_t size : test.shape) {
        whole.push_back(0);
        whole.push_back(static_cast<int>(size));
      }
      whole.push_back(numberAlong(test.mesh, device, partial));
      map.push_back(whole);
    }
    nodeOf(canonical(map));
  }
  for (size_t node = 0; node < maps.size(); ++node)
    for (const Grouping &grouping : groupings)
      for (size_t dim = 0; dim < test.shape.size(); ++dim)
        if (auto sliced =
                allSlice(maps[node], grouping.groups, static_cast<int>(dim)))
          nodeOf(*sliced);
  namedCount = static_cast<int>(maps.size());
}

void BruteForce::findRearrangements() {
  std::vector<int> targetOf(deviceCount(test.mesh));
  std::iota(targetOf.begin(), targetOf.end(), 0);
  while (std::next_permutation(targetOf.begin(), targetOf.end())) {
    std::vector<int> axes;
    for (int axis = 0; axis < static_cast<int>(test.mesh.size()); ++axis)
      for (int device = 0; device < deviceCount(test.mesh); ++device)
        if (coordinatesOf(test.mesh, device)[axis] !=
            coordinatesOf(test.mesh, targetOf[device])[axis]) {
          axes.push_back(axis);
          break;
        }
    rearrangements.push_back({targetOf, axes});
  }
}

int BruteForce::nodeOf(const DeviceMap &map) {
  auto [found, isNew] = nodes.try_emplace(map, static_cast<int>(maps.size()));
  if (isNew) {
    maps.push_back(map);
    edges.emplace_back();
  }
  return found->second;
}

int BruteForce::nodeOf(const TensorSharding &sharding) const {
  std::vector<int> partial;
  for (auto [axis, reduction] : sharding.partial)
    partial.push_back(axis);
  DeviceMap map;
  for (int device = 0; device < deviceCount(test.mesh); ++device) {
    Holding holding;
    for (size_t dim = 0; dim < test.shape.size(); ++dim) {
      int size = static_cast<int>(test.shape[dim]);
      for (int axis : sharding.dims[dim])
        size /= static_cast<int>(test.mesh[axis].size);
      holding.push_back(size *
                        numberAlong(test.mesh, device, sharding.dims[dim]));
      holding.push_back(size);
    }
    holding.push_back(numberAlong(test.mesh, device, partial));
    map.push_back(holding);
  }
  return nodes.at(canonical(map));
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

bool BruteForce::isAnyFixed(const std::vector<int> &axes) const {
  return std::any_of(axes.begin(), axes.end(),
                     [&](int axis) { return test.mesh[axis].fixed; });
}

/// The time of `rounds` messages one after another, in which every device
/// sends `share` times what it holds.
double BruteForce::callCost(const DeviceMap &map, const std::vector<int> &axes,
                            double rounds, double share) const {
  double latency = 0, secondsPerByte = 0;
  for (int axis : axes) {
    latency = std::max(latency, test.links[axis].latency);
    secondsPerByte = std::max(secondsPerByte, test.links[axis].secondsPerByte);
  }
  double bytes = static_cast<double>(elementCount(map) * test.elementBytes);
  return rounds * latency + share * bytes * secondsPerByte;
}

void BruteForce::link(int node, const std::optional<DeviceMap> &target,
                      double cost) {
  if (!target)
    return;
  int targetNode = nodeOf(*target);
  edges[node].push_back({targetNode, cost});
}

void BruteForce::expand(int node) {
  // A copy, since the list of maps grows meanwhile.
  DeviceMap map = maps[node];
  int rank = static_cast<int>(test.shape.size());
  for (const auto &[axes, groups] : groupings) {
    if (isAnyFixed(axes))
      continue;
    double n = static_cast<double>(groups.front().size());
    double share = (n - 1) / n, rounds = 0;
    for (double reached = 1; reached < n; reached *= 2)
      ++rounds;
    link(node, allReduce(map, groups),
         callCost(map, axes, 2 * rounds, 2 * share));
    for (int dim = 0; dim < rank; ++dim) {
      link(node, allSlice(map, groups, dim), 0);
      link(node, allGather(map, groups, dim),
           callCost(map, axes, rounds, n * share));
      link(node, reduceScatter(map, groups, dim),
           callCost(map, axes, rounds, share));
      for (int splitDim = 0; splitDim < rank; ++splitDim)
        if (splitDim != dim)
          link(node, allToAll(map, groups, dim, splitDim),
               callCost(map, axes, rounds, share));
    }
  }
  if (permutes == Permutes::Named)
    expandNamedPermutes(node);
  else
    expandAllPermutes(node);
}

void BruteForce::expandNamedPermutes(int node) {
  for (int target = 0; target < namedCount; ++target) {
    if (target == node)
      continue;
    for (const auto &[axes, groups] : groupings)
      if (std::is_sorted(axes.begin(), axes.end()) && !isAnyFixed(axes) &&
          isPermuted(maps[node], maps[target], groups))
        edges[node].push_back({target, callCost(maps[node], axes, 1, 1)});
  }
}

void BruteForce::expandAllPermutes(int node) {
  DeviceMap map = maps[node];
  for (const auto &[targetOf, axes] : rearrangements) {
    if (isAnyFixed(axes))
      continue;
    DeviceMap target(map.size());
    for (size_t device = 0; device < map.size(); ++device)
      target[targetOf[device]] = map[device];
    link(node, canonical(target), callCost(map, axes, 1, 1));
  }
}

//===----------------------------------------------------------------------===//
// Shortest paths
//===----------------------------------------------------------------------===//

std::vector<double> BruteForce::costsFrom(int source, int avoided) const {
  using Entry = std::pair<double, int>;
  std::vector<double> costs(maps.size(),
                            std::numeric_limits<double>::infinity());
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  costs[source] = 0;
  queue.push({0, source});
  while (!queue.empty()) {
    auto [cost, node] = queue.top();
    queue.pop();
    if (cost > costs[node] || node == avoided)
      continue;
    for (const Edge &edge : edges[node])
      if (cost + edge.cost < costs[edge.target]) {
        costs[edge.target] = cost + edge.cost;
        queue.push({costs[edge.target], edge.target});
      }
  }
  return costs;
}

} // namespace pp::reshard::judge
