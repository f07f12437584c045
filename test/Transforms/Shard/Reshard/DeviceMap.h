//===- DeviceMap.h - Which device holds what ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A device map says for every device which box of the global tensor it holds
// and which addend of it. A collective applies to a map when its definition
// makes sense for what the devices hold, whatever axes they are thought to be
// split along. Collectives that do not apply give nullopt.
//
//===----------------------------------------------------------------------===//

#ifndef PP_TEST_TRANSFORMS_SHARD_RESHARD_DEVICEMAP_H
#define PP_TEST_TRANSFORMS_SHARD_RESHARD_DEVICEMAP_H

#include <cstdint>
#include <optional>
#include <vector>

namespace pp::reshard::judge {

/// Begin and size of a box in every dimension, then the number of an addend.
using Holding = std::vector<int>;

/// The holding of every device. Addends are numbered by first appearance.
using DeviceMap = std::vector<Holding>;

/// Groups of devices, all of one size, each in member order.
using Groups = std::vector<std::vector<int>>;

/// Renumbers the addends by first appearance.
DeviceMap canonical(DeviceMap map);

int addendCount(const DeviceMap &map);
int64_t elementCount(const DeviceMap &map); ///< of one device

/// Member i of each group keeps part i of what all members hold.
std::optional<DeviceMap> allSlice(const DeviceMap &map, const Groups &groups,
                                  int dim);
/// All members get the box that the members' boxes make up along `dim`.
std::optional<DeviceMap> allGather(const DeviceMap &map, const Groups &groups,
                                   int dim);
/// All members get the sum of the different addends they hold of one box.
std::optional<DeviceMap> allReduce(const DeviceMap &map, const Groups &groups);

std::optional<DeviceMap> reduceScatter(const DeviceMap &map,
                                       const Groups &groups, int dim);
std::optional<DeviceMap> allToAll(const DeviceMap &map, const Groups &groups,
                                  int concatDim, int splitDim);

/// Whether permutes within the groups lead from `map` to `target`, for some
/// naming of the addends.
bool isPermuted(const DeviceMap &map, const DeviceMap &target,
                const Groups &groups);

} // namespace pp::reshard::judge

#endif // PP_TEST_TRANSFORMS_SHARD_RESHARD_DEVICEMAP_H
