//===- DeviceMemory.h - what a device's memory is for -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Memory that a run takes on a device, or on the host for the device, line by
// line: a name, and the predicted and the measured bytes as far as known.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_DEVICEMEMORY_H
#define PPRT_DEVICEMEMORY_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)

namespace pprt {

struct MemoryLine {
  std::string name;
  std::optional<uint64_t> predicted; ///< nothing: not known
  std::optional<uint64_t> measured;  ///< by the driver
  std::string origin; ///< what it consists of, or why it is not known
};

struct DeviceMemory {
  std::vector<uint32_t> ranks; ///< ranks on the device
  std::vector<MemoryLine> lines;
};

} // namespace pprt

#pragma GCC visibility pop

#endif // PPRT_DEVICEMEMORY_H
