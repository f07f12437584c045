//===- Picture.h - a timeline as an SVG picture -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: what each row does when, in any unit of time, and texts. Out: an SVG
// document with a row of bars for each, a legend of what occurs, and below, on
// the same axis, how much memory each holds. It stays small and readable for
// many rows and micro-batches: what is narrower than its number has none, and
// what is narrower than a pixel is shown by the mixture of its colours.
//
//===----------------------------------------------------------------------===//
#ifndef PP_SCHEDULE_PICTURE_H
#define PP_SCHEDULE_PICTURE_H

#include <string>
#include <utility>
#include <vector>

namespace pp::schedule {

/// An action, or an update, from its begin to its end.
struct Bar {
  /// As in Looks.h.
  char kind = 'F';
  unsigned stage = 0;
  /// Negative: none.
  int microBatch = -1;
  double begin = 0, end = 0;
  /// When it computes, in order; empty: all the time. The rest is pale.
  std::vector<std::pair<double, double>> busy;
};

struct PictureRow {
  std::string name;
  /// Shown behind the row: its bubble.
  std::string note;
  std::vector<Bar> bars;
  /// Belongs to the row before: there is less room between them.
  bool isPaired = false;
};

/// A transfer between rows.
struct Arrow {
  size_t from = 0, to = 0;
  double begin = 0, end = 0;
};

/// How much a rank holds when.
struct MemoryCurve {
  std::string name;
  /// Shown behind the curve: its peak.
  std::string note;
  /// From each time on the bytes that are live, in order of time.
  std::vector<std::pair<double, double>> steps;
  /// What it reserves; a dashed line.
  double limit = 0;
};

struct Picture {
  std::string title;
  /// Below the title.
  std::vector<std::string> lines;
  /// The unit of time, for the axis and the titles of bars.
  std::string unit;
  double end = 0;
  std::vector<PictureRow> rows;
  std::vector<Arrow> arrows;
  std::vector<MemoryCurve> memory;
};

std::string drawSvg(const Picture &picture);

} // namespace pp::schedule

#endif // PP_SCHEDULE_PICTURE_H
