//===- Stepper.h - makes training steps -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The two sides of `--verify`: a session, or the reference interpreter. Both
// start from the same values, take the same batches, and return the same
// values.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_STEPPER_H
#define PP_RUN_STEPPER_H

#include "pprt/Session.h"
#include "pprt/host/Batches.h"
#include "pprt/host/Compare.h"

#include <memory>
#include <string>
#include <vector>

namespace pp::run {

class Stepper {
public:
  virtual ~Stepper() = default;
  virtual pprt::Expected<pprt::host::StepValues>
  step(const pprt::host::Batch &batch) = 0;
  /// Goes on from the parameters and states of a session, the parameters after
  /// shake() by `rounding` where they are f64 here.
  virtual pprt::Status follow(const pprt::Session &leader, double rounding) = 0;
};

/// Changes every value by that relative amount, up or down depending on its
/// place: the effect on a step bounds that of any rounding.
void shake(std::vector<double> &values, double rounding);

/// Steps a session that has begun; it must outlive the stepper.
std::unique_ptr<Stepper> makeSessionStepper(pprt::Session &session);

/// The parameters and states of a session.
pprt::Expected<pprt::host::StepValues>
readArguments(const pprt::Session &session);

/// The last step's results beyond loss and gradients.
pprt::host::Values readMetrics(const pprt::Session &session);

/// `count` elements as doubles.
std::vector<double> asDoubles(pprt::ppx::ElementType element,
                              const void *values, size_t count);

} // namespace pp::run

#endif // PP_RUN_STEPPER_H
