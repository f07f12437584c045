//===- Limits.h - how long a section may stand still ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: for how long nothing has happened in a section. Out: whether and why the
// section must end.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_LIMITS_H
#define PPRT_ENGINE_LIMITS_H

#include "pprt/Transport.h"

#include <optional>

namespace pprt {

struct Limits {
  double hangSeconds = 30; ///< 0: none
  /// Whether a user wants the end; may be empty.
  std::function<bool()> isInterrupted;

  /// Returns nothing if the section may go on. A recorded section makes no
  /// visible progress before its end: that alone is no hang.
  std::optional<Suspicion> suspect(double idle, bool isRecorded = false) const;
};

/// Describes an interruption of step `step`, counted from 0.
std::string describeInterruption(int64_t step);

} // namespace pprt

#endif // PPRT_ENGINE_LIMITS_H
