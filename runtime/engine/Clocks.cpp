//===- Clocks.cpp - times of several processes on one clock ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Clocks.h"

#include <algorithm>
#include <cmath>

using namespace pprt;

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
  // Only differences fit a double.
  const double share = double(time - a.at) / double(b.at - a.at);
  return time - a.ahead - std::llround(share * double(b.ahead - a.ahead));
}

double Clocks::error() const {
  int64_t most = 0;
  for (const auto *readings : {&first, &last})
    for (const ClockReading &reading : *readings)
      most = std::max(most, reading.error);
  return double(most) / 1e9;
}
