//===- Train.h - steps a session and tells of it ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a session that has begun, and batches. Out: all steps, or those before a
// signal or a failure, told as they end: on the console, in the report, in
// --metrics.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_TRAIN_H
#define PP_RUN_TRAIN_H

#include "Options.h"
#include "pprt/Session.h"
#include "pprt/World.h"
#include "pprt/host/Batches.h"
#include "pprt/host/Measure.h"
#include "pprt/host/Report.h"

namespace pp::run {

/// The output that is the loss.
std::optional<uint32_t> findLoss(const pprt::ppx::ArtifactT &artifact);

/// Trains until the steps are done, or a signal or a failure ends it, in any
/// process. Of the steps that were done, `report` tells, and `lastSteps` if it
/// is not null. `keeps`: whether what was learnt is that of whole steps.
pprt::Status train(pprt::Session &session, const pprt::host::Batches &batches,
                   const Options &options, pprt::World &world,
                   pprt::host::Report &report, pprt::host::LastSteps *lastSteps,
                   bool &keeps);

/// What happened first, followed by what happened then.
pprt::Status join(pprt::Status first, const pprt::Status &second);

} // namespace pp::run

#endif // PP_RUN_TRAIN_H
