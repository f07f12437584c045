//===- StepSink.h - who is told of steps ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A file or a server that shows a run while it lasts.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_STEPSINK_H
#define PPRT_HOST_STEPSINK_H

#include "pprt/host/Report.h"

#pragma GCC visibility push(default)
namespace pprt::host {

class StepSink {
public:
  StepSink() = default;
  virtual ~StepSink();
  StepSink(const StepSink &) = delete;
  StepSink &operator=(const StepSink &) = delete;

  /// Takes the next step. Must not wait for a reader.
  virtual Status add(const StepReport &step) = 0;
  /// Must be called once, last, also if the run failed.
  virtual Status finish() = 0;
  /// The file that is written; empty: none.
  virtual std::string file() const = 0;
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_STEPSINK_H
