//===- Curve.h - a value over many steps ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a value per step. Out: parts of equally many steps, never more than a
// picture can show, so that a long run needs no more memory than a short one.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_CURVE_H
#define PPRT_HOST_CURVE_H

#include <cstddef>
#include <cstdint>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt::host {

class Curve {
public:
  /// Successive steps that are shown as one.
  struct Part {
    double steps = 0, sum = 0; ///< sums, of the steps' numbers and values
    double least = 0, most = 0;
    uint64_t count = 0;
    double step() const { return steps / double(count); }
    double mean() const { return sum / double(count); }
  };

  /// There are up to `limit` parts, an even number.
  explicit Curve(size_t limit = 1024) : limit(limit) {}

  /// Values that are not finite are left out.
  void add(uint64_t step, double value);
  const std::vector<Part> &parts() const { return its; }
  /// For each part the mean of those around it, fewer towards both ends, so
  /// that the line lags behind in neither direction.
  std::vector<double> smooth() const;

private:
  size_t limit;
  uint64_t perPart = 1; ///< values
  std::vector<Part> its;
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_CURVE_H
