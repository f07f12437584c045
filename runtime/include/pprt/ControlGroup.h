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

#pragma GCC visibility push(default)
namespace pprt {

struct GroupLimits {
  /// Of the group or one that it is in, whichever has least.
  std::optional<uint64_t> memoryBytes;
  std::string memoryGroup; ///< whose limit that is: who has the same share it
  std::optional<double> cores;
};

/// Of this process. `root`: where the system's files are, for tests.
GroupLimits groupLimits(const std::string &root = "");

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_CONTROLGROUP_H
