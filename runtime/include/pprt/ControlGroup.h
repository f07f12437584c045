//===- ControlGroup.h - what a container leaves of a machine ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Containers and batch systems put processes into control groups of Linux, of
// version 1 or 2, each within others that limit it, too. What a machine has
// beyond their limits is no use: the system kills who takes more memory, and
// stops all threads of who takes more of the cores' time.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_CONTROLGROUP_H
#define PPRT_CONTROLGROUP_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

struct GroupLimits {
  /// Of a group: all processes in it and in groups within it share that.
  struct Memory {
    std::string group;
    uint64_t bytes = 0;
  };
  /// Of the process's group and those that it is in, the least first.
  std::vector<Memory> memory;
  std::optional<double> cores;
};

/// Of this process. `root`: where the system's files are, for tests.
GroupLimits groupLimits(const std::string &root = "");

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_CONTROLGROUP_H
