//===- Curve.cpp - a value over many steps --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/host/Curve.h"

#include <algorithm>
#include <cmath>

using namespace pprt::host;

/// A part is smoothed over this share of the curve on either side.
static constexpr size_t kSmoothedParts = 40;

static void join(Curve::Part &part, const Curve::Part &next) {
  part.least = part.count ? std::min(part.least, next.least) : next.least;
  part.most = part.count ? std::max(part.most, next.most) : next.most;
  part.steps += next.steps;
  part.sum += next.sum;
  part.count += next.count;
}

void Curve::add(uint64_t step, double value) {
  if (!std::isfinite(value))
    return;
  if (its.empty() || its.back().count == perPart) {
    if (its.size() == limit) {
      for (size_t i = 0; i < limit / 2; ++i) {
        Part pair = its[2 * i];
        join(pair, its[2 * i + 1]);
        its[i] = pair;
      }
      its.resize(limit / 2);
      perPart *= 2;
    }
    its.emplace_back();
  }
  join(its.back(), {double(step), value, value, value, 1});
}

std::vector<double> Curve::smooth() const {
  std::vector<double> smoothed;
  for (size_t i = 0; i < its.size(); ++i) {
    const size_t around =
        std::min({its.size() / kSmoothedParts, i, its.size() - 1 - i});
    double sum = 0;
    uint64_t count = 0;
    for (size_t other = i - around; other <= i + around; ++other) {
      sum += its[other].sum;
      count += its[other].count;
    }
    smoothed.push_back(sum / double(count));
  }
  return smoothed;
}
