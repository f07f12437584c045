//===- Clocks.cpp - times of several processes on one clock ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Clocks.h"

#include <algorithm>
#include <cmath>

using namespace pprt;

ClockReading pprt::closestReading(const std::vector<RoundTrip> &trips) {
  const auto took = [](const RoundTrip &trip) {
    return trip.heard - trip.asked;
  };
  const RoundTrip best = *std::min_element(
      trips.begin(), trips.end(), [&](const RoundTrip &a, const RoundTrip &b) {
        return took(a) < took(b);
      });
  return {best.answer, best.answer - (best.asked + took(best) / 2),
          (took(best) + 1) / 2};
}

void Clocks::add(std::vector<ClockReading> readings) {
  last = std::move(readings);
  if (first.empty())
    first = last;
}

int64_t Clocks::convert(uint32_t process, int64_t time) const {
  if (process >= last.size())
    return time;
  const ClockReading &a = first[process], &b = last[process];
  if (a.at == b.at)
    return time - a.ahead;
  // Only differences of times fit a double.
  const double share = double(time - a.at) / double(b.at - a.at);
  return time - a.ahead - std::llround(share * double(b.ahead - a.ahead));
}

int64_t Clocks::error(uint32_t process) const {
  return process < last.size()
             ? std::max(first[process].error, last[process].error)
             : 0;
}
