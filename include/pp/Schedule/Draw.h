//===- Draw.h - Pictures of a timeline --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A timeline as text for the terminal and as an SVG image for documents and
// browsers: rows are ranks, time runs to the right.
//
//===----------------------------------------------------------------------===//
#ifndef PP_SCHEDULE_DRAW_H
#define PP_SCHEDULE_DRAW_H

#include "pp/Schedule/Simulate.h"

namespace pp::schedule {

/// One line per rank, at most about `columns` characters wide, idle time as
/// dots. Where actions are too narrow for their names only kinds are shown.
std::string drawText(const Schedule &schedule, const Timeline &timeline,
                     unsigned columns = 160);

/// A self-contained SVG document with a legend and the idle share of each rank.
std::string drawSvg(const Schedule &schedule, const Timeline &timeline);

} // namespace pp::schedule

#endif // PP_SCHEDULE_DRAW_H
