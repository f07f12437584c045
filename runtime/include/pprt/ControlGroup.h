//===- ControlGroup.h - limits that containers set --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Containers and batch systems put processes into control groups of Linux, of
// version 1 or 2, each within others that limit it, too. Resources beyond these
// limits are of no use: the system kills processes that take more memory, and
// stops all threads of those that take more of the cores' time.
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
  /// Limit of a group, shared by all processes in it and in its subgroups.
  struct Memory {
    std::string group;
    uint64_t bytes = 0;
  };
  /// Limits of the process's group and of those around it, the least first.
  std::vector<Memory> memory;
  std::optional<double> cores;
};

/// Limits of this process. `root`: where the system's files are, for tests.
GroupLimits groupLimits(const std::string &root = "");

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_CONTROLGROUP_H
