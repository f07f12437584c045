//===- Launcher.h - who started this process, beside others -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Launchers tell the processes that they start by variables of the environment,
// before any MPI runs. A process that took itself for the only one would run
// the whole, beside others that do the same.
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
  uint32_t rank = 0;  ///< of this process
  uint32_t count = 0; ///< of processes; 0: it does not say

  /// Whether others may be beside this one.
  bool isOneOfSeveral() const { return count != 1; }
};

/// Nothing if nobody says so.
std::optional<Launched> findLauncher();

/// Whether a world of so many processes, as MPI has made it, is of all that
/// were started together. Fails (usage) with what to do, of which one process
/// tells: the others have no message.
Status checkLaunched(const std::optional<Launched> &its, uint32_t processes);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_LAUNCHER_H
