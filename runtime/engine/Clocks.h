//===- Clocks.h - times of several processes on one clock -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: readings of all processes' clocks against that of process 0. Out: times
// of any of them by the clock of process 0. Assumes that clocks drift apart
// evenly: between the first and the last reading, and after it.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_CLOCKS_H
#define PPRT_ENGINE_CLOCKS_H

#include "pprt/World.h"

namespace pprt {

/// The time that a process answered when asked, and the times of the question
/// and of the answer by the clock of process 0. In nanoseconds.
struct RoundTrip {
  int64_t asked, answer, heard;
};

/// The answer was given at some moment of its round trip: taking the middle
/// errs by at most half of the trip, so the fastest one counts.
ClockReading closestReading(const std::vector<RoundTrip> &trips);

class Clocks {
public:
  void add(std::vector<ClockReading> readings);
  /// Converts nanoseconds of a process's clock to process 0's.
  int64_t convert(uint32_t process, int64_t time) const;
  /// Largest error of convert() at the times of the readings.
  int64_t error(uint32_t process) const;

private:
  std::vector<ClockReading> first, last; ///< by process
};

} // namespace pprt

#endif // PPRT_ENGINE_CLOCKS_H
