//===- ProgressLine.h - Progress shown during a run -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// On a terminal, one line that is redrawn and fits it. Elsewhere, plain lines
// by time: the first step, the last, those with an evaluation, and between them
// at first after a second, then less and less often, but at least every ten
// seconds. Or a line is kept for every so many steps, on a terminal above the
// one that is redrawn.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_PROGRESSLINE_H
#define PPRT_HOST_PROGRESSLINE_H

#include "pprt/host/Report.h"

#include <cstdint>
#include <ostream>
#include <string>

#pragma GCC visibility push(default)
namespace pprt::host {

class ProgressLine {
public:
  enum class Style { quiet, lines, bar };

  /// `before` of the `steps` were done by an earlier run. `itemName` is the
  /// unit of `itemsPerStep`: "tokens" or "samples". A bar has at most `columns`
  /// characters. A line stays for each `logEvery` steps; 0: by time, and none
  /// above a bar.
  ProgressLine(std::ostream &out, Style style, uint64_t before, uint64_t steps,
               uint64_t itemsPerStep, std::string itemName,
               unsigned columns = 80, uint64_t logEvery = 0);
  /// Ends the line of the bar.
  ~ProgressLine();

  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;

  /// Must be called after every step, with the time since the first step began,
  /// including time outside of steps.
  void update(const StepReport &step, double elapsedMs);

private:
  std::vector<std::string> describe(const StepReport &step,
                                    double elapsedMs) const;
  std::string drawBar(const StepReport &step, double elapsedMs) const;
  std::string countOf(const StepReport &step) const;
  std::string describeLine(const StepReport &step, double elapsedMs) const;
  /// Writes over the bar.
  void draw(std::string line);

  std::ostream &out;
  Style style;
  uint64_t before, steps, itemsPerStep;
  std::string itemName;
  unsigned columns;
  uint64_t logEvery;
  /// Loss of the last evaluation.
  std::optional<double> evaluated;
  /// Time of the last output.
  double shownMs = 0;
  size_t drawnWidth = 0;
};

} // namespace pprt::host
#pragma GCC visibility pop

#endif // PPRT_HOST_PROGRESSLINE_H
