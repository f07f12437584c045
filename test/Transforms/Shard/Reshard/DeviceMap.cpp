//===- DeviceMap.cpp - Collectives on device maps -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "DeviceMap.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace pp::reshard::judge {

DeviceMap canonical(DeviceMap map) {
  std::map<int, int> numbers;
  for (Holding &holding : map) {
    int next = static_cast<int>(numbers.size());
    holding.back() = numbers.try_emplace(holding.back(), next).first->second;
  }
  return map;
}

int addendCount(const DeviceMap &map) {
  std::set<int> addends;
  for (const Holding &holding : map)
    addends.insert(holding.back());
  return static_cast<int>(addends.size());
}

int64_t elementCount(const DeviceMap &map) {
  int64_t count = 1;
  for (size_t i = 1; i < map.front().size(); i += 2)
    count *= map.front()[i];
  return count;
}

/// Member i of each group keeps part i of its box.
static std::optional<DeviceMap> keepParts(DeviceMap map, const Groups &groups,
                                          int dim) {
  for (const std::vector<int> &group : groups) {
    int count = static_cast<int>(group.size());
    for (int member = 0; member < count; ++member) {
      Holding &holding = map[group[member]];
      if (holding[2 * dim + 1] % count != 0)
        return std::nullopt;
      holding[2 * dim + 1] /= count;
      holding[2 * dim] += member * holding[2 * dim + 1];
    }
  }
  return map;
}

std::optional<DeviceMap> allSlice(const DeviceMap &map, const Groups &groups,
                                  int dim) {
  // Members that hold different things would lose what the others drop.
  for (const std::vector<int> &group : groups)
    for (int device : group)
      if (map[device] != map[group.front()])
        return std::nullopt;
  return keepParts(map, groups, dim);
}

std::optional<DeviceMap> allGather(const DeviceMap &map, const Groups &groups,
                                   int dim) {
  DeviceMap result = map;
  for (const std::vector<int> &group : groups) {
    Holding whole = map[group.front()], next = whole;
    for (int device : group) {
      if (map[device] != next)
        return std::nullopt;
      next[2 * dim] += next[2 * dim + 1];
    }
    whole[2 * dim + 1] *= static_cast<int>(group.size());
    for (int device : group)
      result[device] = whole;
  }
  return result;
}

std::optional<DeviceMap> allReduce(const DeviceMap &map, const Groups &groups) {
  DeviceMap result = map;
  std::map<int, std::set<int>> sumWith; // per addend the sum it went into
  for (const std::vector<int> &group : groups) {
    std::set<int> sum;
    for (int device : group) {
      Holding box = map[device];
      if (!sum.insert(box.back()).second)
        return std::nullopt;
      box.back() = map[group.front()].back();
      if (box != map[group.front()])
        return std::nullopt;
    }
    // Two sums are the same addend of the total or have no part in common.
    for (int addend : sum)
      if (sumWith.try_emplace(addend, sum).first->second != sum)
        return std::nullopt;
    for (int device : group)
      result[device].back() = *sum.begin();
  }
  return canonical(result);
}

std::optional<DeviceMap> reduceScatter(const DeviceMap &map,
                                       const Groups &groups, int dim) {
  std::optional<DeviceMap> sum = allReduce(map, groups);
  return sum ? keepParts(*sum, groups, dim) : std::nullopt;
}

std::optional<DeviceMap> allToAll(const DeviceMap &map, const Groups &groups,
                                  int concatDim, int splitDim) {
  std::optional<DeviceMap> whole = allGather(map, groups, concatDim);
  return whole ? keepParts(*whole, groups, splitDim) : std::nullopt;
}

/// The sorted holdings of a group, with new names for the addends.
static std::vector<Holding> contents(const DeviceMap &map,
                                     const std::vector<int> &group,
                                     const std::vector<int> &naming) {
  std::vector<Holding> result;
  for (int device : group) {
    result.push_back(map[device]);
    result.back().back() = naming[result.back().back()];
  }
  std::sort(result.begin(), result.end());
  return result;
}

bool isPermuted(const DeviceMap &map, const DeviceMap &target,
                const Groups &groups) {
  int addends = addendCount(map);
  if (addends != addendCount(target))
    return false;
  std::vector<int> nameless(addends), same(addends);
  std::iota(same.begin(), same.end(), 0);
  for (const std::vector<int> &group : groups)
    if (contents(map, group, nameless) != contents(target, group, nameless))
      return false;
  std::vector<int> naming = same;
  do {
    if (std::all_of(groups.begin(), groups.end(), [&](const auto &group) {
          return contents(map, group, naming) == contents(target, group, same);
        }))
      return true;
  } while (std::next_permutation(naming.begin(), naming.end()));
  return false;
}

} // namespace pp::reshard::judge
