//===- Standstill.h - whether all processes have stopped --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A process in which nothing happens may have to wait for another, for as long
// as that computes. So a hang is found by all: a transport whose ranks are in
// several processes asks each of them, and it is one if nothing has happened in
// any of them for long.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_STANDSTILL_H
#define PPRT_ENGINE_STANDSTILL_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pprt {

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
  /// Sections count from 1, in all processes alike.
  virtual Standstill standstill(uint64_t section) = 0;
  /// In process 0: nothing has happened anywhere for so long. `all`: what each
  /// process says of its ranks.
  virtual void hang(double seconds,
                    const std::vector<std::vector<std::byte>> &all) = 0;
};

} // namespace pprt

#endif // PPRT_ENGINE_STANDSTILL_H
