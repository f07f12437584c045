//===- CriticalPath.h - what a step's time is spent on ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a predicted timeline, in which nothing starts later than it could. Out: a
// chain of instructions from the end of the step to its begin, each of which
// starts when the one before it ends, added up by what they do.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PREDICT_CRITICALPATH_H
#define PP_PREDICT_CRITICALPATH_H

#include "pp/Predict/Prediction.h"

namespace pp::predict {

/// The largest part first. The parts add up to the end of the timeline.
std::vector<pprt::PathPart> findCriticalPath(const pprt::Players &players,
                                             const pprt::Timeline &timeline);

} // namespace pp::predict

#endif // PP_PREDICT_CRITICALPATH_H
