//===- Progress.cpp - What a run shows while it runs ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Progress.h"

#include <algorithm>
#include <cstdio>

using namespace pp::run;

// Redrawing more often than this only costs time.
static constexpr double minDrawMs = 50;
static constexpr uint64_t lineCount = 50;
static constexpr uint64_t barWidth = 20;

Progress::Progress(std::ostream &out, Style style, uint64_t steps,
                   uint64_t itemsPerStep, std::string itemName)
    : out(out), style(style), steps(steps), itemsPerStep(itemsPerStep),
      itemName(std::move(itemName)) {}

Progress::~Progress() {
  if (drawnWidth > 0)
    out << std::endl;
}

/// `1.23k`, `45.6M`: three digits and a unit.
static std::string shortNumber(double value) {
  const char *unit = "";
  for (const char *next : {"k", "M", "G"}) {
    if (value < 1000)
      break;
    value /= 1000;
    unit = next;
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f%s",
                value < 10    ? 2
                : value < 100 ? 1
                              : 0,
                value, unit);
  return text;
}

/// `42s`, `6m02s`, `3h05m`.
static std::string shortTime(double ms) {
  auto seconds = static_cast<unsigned long>(std::min(ms / 1000, 3.6e8));
  char text[32];
  if (seconds < 60)
    std::snprintf(text, sizeof(text), "%lus", seconds);
  else if (seconds < 3600)
    std::snprintf(text, sizeof(text), "%lum%02lus", seconds / 60, seconds % 60);
  else
    std::snprintf(text, sizeof(text), "%luh%02lum", seconds / 3600,
                  seconds / 60 % 60);
  return text;
}

std::string Progress::describe(uint64_t done, double loss, double ms) const {
  char text[96];
  std::snprintf(text, sizeof(text), "loss %.4f | %.1f ms", loss, ms);
  std::string line = text;
  if (ms > 0 && itemsPerStep > 0)
    line += " | " +
            shortNumber(1000.0 * static_cast<double>(itemsPerStep) / ms) + " " +
            itemName + "/s";
  if (done < steps)
    line += " | " +
            shortTime(totalMs / static_cast<double>(done) *
                      static_cast<double>(steps - done)) +
            " left";
  return line;
}

void Progress::update(uint64_t step, double loss, double ms) {
  uint64_t done = step + 1;
  totalMs += ms;
  sinceDrawnMs += ms;
  std::string count =
      "step " + std::to_string(done) + "/" + std::to_string(steps) + " ";
  bool isLast = done >= steps;
  if (style == Style::lines) {
    uint64_t interval = std::max<uint64_t>(1, steps / lineCount);
    if (done == 1 || isLast || done % interval == 0)
      out << count << describe(done, loss, ms) << std::endl;
  }
  if (style == Style::bar &&
      (drawnWidth == 0 || isLast || sinceDrawnMs >= minDrawMs)) {
    uint64_t filled = steps ? std::min(done, steps) * barWidth / steps : 0;
    std::string line = count + "[" + std::string(filled, '#') +
                       std::string(barWidth - filled, '.') + "] " +
                       describe(done, loss, ms);
    // Blanks cover what a longer line left.
    size_t width = line.size();
    line.resize(std::max(width, drawnWidth), ' ');
    out << '\r' << line << std::flush;
    drawnWidth = width;
    sinceDrawnMs = 0;
  }
}
