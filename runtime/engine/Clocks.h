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

/// What a process answered to "how late is it?", and when it was asked and
/// heard by the clock of process 0. In nanoseconds.
struct RoundTrip {
  int64_t asked, answer, heard;
};

/// The answer was given at some moment of its round trip: taken for the middle
/// of that, it is wrong by at most half of it, so the fastest one counts.
ClockReading closestReading(const std::vector<RoundTrip> &trips);

class Clocks {
public:
  void add(std::vector<ClockReading> readings);
  /// Nanoseconds of a process's clock, by process 0's.
  int64_t convert(uint32_t process, int64_t time) const;
  /// The most by which that is wrong where the clocks were read.
  int64_t error(uint32_t process) const;

private:
  std::vector<ClockReading> first, last; ///< by process
};

} // namespace pprt

#endif // PPRT_ENGINE_CLOCKS_H
