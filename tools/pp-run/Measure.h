//===- Measure.h - what a session measured ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_MEASURE_H
#define PP_RUN_MEASURE_H

#include "Report.h"
#include "Trace.h"
#include "pprt/Session.h"

namespace pp::run {

/// Fills the parts of `report` that the session knows: world, memory,
/// communication, bubble.
void measure(const pprt::Session &session, Report &report);

/// The timeline of the last step: every instruction of every rank.
Trace traceLastStep(const pprt::Session &session);

} // namespace pp::run

#endif // PP_RUN_MEASURE_H
