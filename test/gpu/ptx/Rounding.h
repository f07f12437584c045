//===- Rounding.h - computing in a rounding that is named -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The processor's own roundings are used: what includes this is compiled with
// -frounding-math, and leaves the mode to nearest.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_PTX_ROUNDING_H
#define PP_TEST_GPU_PTX_ROUNDING_H

#include "Arithmetic.h"

#include <cfenv>
#include <cmath>

namespace ptx {

/// Volatile: nothing is moved across the change of mode.
template <typename T, typename Function>
T rounded(Rounding rounding, Function compute) {
  if (rounding == Rounding::Nearest)
    return compute();
  const int mode = rounding == Rounding::Zero   ? FE_TOWARDZERO
                   : rounding == Rounding::Down ? FE_DOWNWARD
                                                : FE_UPWARD;
  std::fesetround(mode);
  volatile T result = compute();
  std::fesetround(FE_TONEAREST);
  return result;
}

/// What was cut off towards zero, rounded to odd: rounding that to fewer bits
/// is rounding once.
inline double toOdd(double cut, bool isInexact) {
  return isInexact && std::isfinite(cut) ? toDouble(fromDouble(cut) | 1) : cut;
}

} // namespace ptx

#endif // PP_TEST_GPU_PTX_ROUNDING_H
