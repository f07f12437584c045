//===- Clocks.h - times of several processes on one clock -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: how the clocks of all processes stood to that of process 0, now and then.
// Out: times of any of them by that of process 0. Assumes that clocks drift
// apart evenly: between the first and the last reading, and after it.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_CLOCKS_H
#define PPRT_ENGINE_CLOCKS_H

#include "pprt/World.h"

namespace pprt {

class Clocks {
public:
  void add(std::vector<ClockReading> readings);
  /// Nanoseconds of a process's clock, by process 0's.
  int64_t convert(uint32_t process, int64_t time) const;
  /// The most by which that is wrong where the clocks were read, in seconds.
  double error() const;

private:
  std::vector<ClockReading> first, last; ///< by process
};

} // namespace pprt

#endif // PPRT_ENGINE_CLOCKS_H
