//===- Progress.h - What a run shows while it runs --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// On a terminal one line that is redrawn, elsewhere plain lines for the first
// step, the last, and about fifty between.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_SUPPORT_PROGRESS_H
#define PP_RUN_SUPPORT_PROGRESS_H

#include <cstdint>
#include <ostream>
#include <string>

namespace pp::run {

class Progress {
public:
  enum class Style { quiet, lines, bar };

  /// `itemName` is the unit of `itemsPerStep`: "tokens" or "samples".
  Progress(std::ostream &out, Style style, uint64_t steps,
           uint64_t itemsPerStep, std::string itemName);
  /// Ends the line of the bar.
  ~Progress();

  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Expects to be called after every step, with steps counted from 0.
  void update(uint64_t step, double loss, double ms);

private:
  std::string describe(uint64_t done, double loss, double ms) const;

  std::ostream &out;
  Style style;
  uint64_t steps, itemsPerStep;
  std::string itemName;
  /// All time so far, and the part of it since the bar was drawn.
  double totalMs = 0, sinceDrawnMs = 0;
  size_t drawnWidth = 0;
};

} // namespace pp::run

#endif // PP_RUN_SUPPORT_PROGRESS_H
