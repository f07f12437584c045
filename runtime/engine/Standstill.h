//===- Standstill.h - whether all processes have stopped --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A process in which nothing happens may have to wait for another, for as long
// as that computes. So a hang is found by all, and whether a user who wants the
// end has to wait for anything: a transport whose ranks are in several
// processes asks each of them whether nothing has happened in it for long. What
// computes happens, however long it takes.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_STANDSTILL_H
#define PPRT_ENGINE_STANDSTILL_H

#include "pprt/Status.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pprt {

/// What is asked.
struct Suspicion {
  ExitCode why = ExitCode::hang; ///< or interrupted: what it ends by
  /// They count from 1, in all processes alike; 0: whichever is run.
  uint64_t section = 0;
  double seconds = 0;
};

/// What a process says of a section.
struct Standstill {
  /// For how long nothing has happened in it there. Negative: it is not there,
  /// or something happens.
  double seconds = -1;
  std::vector<std::byte> ranks; ///< what they wait in, for the report
};

/// Who watches the ranks of a process. Called from any thread.
class Watched {
public:
  virtual ~Watched() = default;
  virtual Standstill standstill(uint64_t section) = 0;
  /// In process 0: nothing has happened anywhere for so long. `all`: what each
  /// process says of its ranks.
  virtual void end(ExitCode why, double seconds,
                   const std::vector<std::vector<std::byte>> &all) = 0;
};

} // namespace pprt

#endif // PPRT_ENGINE_STANDSTILL_H
