//===- Launcher.h - the launcher of this process ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Launchers identify the processes that they start by environment variables,
// before any MPI runs. A process that missed them would run the whole program
// beside others that do the same.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LAUNCHER_H
#define PPRT_LAUNCHER_H

#include "pprt/Status.h"

#include <cstdint>
#include <optional>
#include <string>

#pragma GCC visibility push(default)
namespace pprt {

struct Launched {
  std::string by;     ///< the launcher's name
  uint32_t rank = 0;  ///< rank of this process
  uint32_t count = 0; ///< number of processes; 0: unknown

  /// Whether there may be other processes.
  bool isOneOfSeveral() const { return count != 1; }
};

/// Returns nothing if no launcher is found.
std::optional<Launched> findLauncher();

/// Checks that MPI's world of `processes` contains all processes that were
/// started together. Fails (usage) with advice, which one process reports: the
/// others have no message.
Status checkLaunched(const std::optional<Launched> &its, uint32_t processes);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_LAUNCHER_H
