//===- DeviceMemory.h - what a device's memory is for -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Lines of what a run takes of a device, or for its sake of the host: each has
// a name, and the bytes that are known before, that were measured, or neither.
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
  std::optional<uint64_t> predicted; ///< nothing: nobody says
  std::optional<uint64_t> measured;  ///< by the driver
  std::string origin; ///< what it is made of; why it is not known
};

struct DeviceMemory {
  std::vector<uint32_t> ranks; ///< that are on it
  std::vector<MemoryLine> lines;
};

} // namespace pprt

#pragma GCC visibility pop

#endif // PPRT_DEVICEMEMORY_H
