//===- ProgressLine.cpp - Progress shown during a run ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/host/ProgressLine.h"

#include <algorithm>
#include <cstdio>

using namespace pprt::host;

// Redrawing more often than this only costs time.
static constexpr double minDrawMs = 50;
// Lines come after a second, after two, four and eight, then every ten.
static constexpr double minSilenceMs = 1000, maxSilenceMs = 10000;
static constexpr size_t maxBarWidth = 20, minBarWidth = 5;

ProgressLine::ProgressLine(std::ostream &out, Style style, uint64_t before,
                           uint64_t steps, uint64_t itemsPerStep,
                           std::string itemName, unsigned columns,
                           uint64_t logEvery)
    : out(out), style(style), before(before), steps(steps),
      itemsPerStep(itemsPerStep), itemName(std::move(itemName)),
      columns(columns), logEvery(logEvery) {}

ProgressLine::~ProgressLine() {
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

std::string ProgressLine::countOf(const StepReport &step) const {
  return "step " + std::to_string(step.step) + "/" + std::to_string(steps) +
         " ";
}

/// Returns the parts of the line, the most important first.
std::vector<std::string> ProgressLine::describe(const StepReport &step,
                                                double elapsedMs) const {
  char text[128];
  std::snprintf(text, sizeof(text), "loss %.4f", step.loss);
  std::vector<std::string> parts = {text};
  if (const std::optional<double> its =
          style == Style::bar ? evaluated
          : step.evaluation   ? std::optional(step.evaluation->loss)
                              : std::nullopt) {
    std::snprintf(text, sizeof(text), "eval loss %.4f", *its);
    parts.push_back(text);
  }
  std::snprintf(text, sizeof(text), step.ms < 1 ? "%.3f ms" : "%.1f ms",
                step.ms);
  parts.push_back(text);
  if (step.ms > 0 && itemsPerStep > 0)
    parts.push_back(shortNumber(1000.0 * static_cast<double>(itemsPerStep) /
                                (step.ms + step.dataMs)) +
                    " " + itemName + "/s");
  const uint64_t done = step.step;
  if (done < steps)
    parts.push_back(shortTime(elapsedMs / static_cast<double>(done - before) *
                              static_cast<double>(steps - done)) +
                    " left");
  for (const auto &[name, values] : step.metrics)
    if (values.size() == 1) {
      std::snprintf(text, sizeof(text), " %.4g", values.front());
      parts.push_back(name + text);
    }
  return parts;
}

/// Leaves out parts that do not fit, the least important first.
std::string ProgressLine::drawBar(const StepReport &step,
                                  double elapsedMs) const {
  const std::string count = countOf(step);
  std::string line;
  // A spare last column keeps the terminal from wrapping the line.
  const size_t fixed = count.size() + minBarWidth + sizeof("[] ");
  for (const std::string &part : describe(step, elapsedMs)) {
    const std::string longer = line + (line.empty() ? "" : " | ") + part;
    if (fixed + longer.size() > columns)
      break;
    line = longer;
  }
  const size_t room = fixed + line.size() > columns
                          ? 0
                          : columns - fixed - line.size() + minBarWidth;
  const size_t width = std::min(maxBarWidth, room);
  if (width < minBarWidth)
    return count.substr(0, columns - 1);
  const size_t filled = steps ? std::min(step.step, steps) * width / steps : 0;
  return count + "[" + std::string(filled, '#') +
         std::string(width - filled, '.') + "] " + line;
}

std::string ProgressLine::describeLine(const StepReport &step,
                                       double elapsedMs) const {
  std::string line;
  for (const std::string &part : describe(step, elapsedMs))
    line += (line.empty() ? "" : " | ") + part;
  return countOf(step) + line;
}

void ProgressLine::draw(std::string line) {
  // Blanks overwrite the rest of a longer line.
  const size_t width = line.size();
  line.resize(std::max(width, drawnWidth), ' ');
  out << '\r' << line << std::flush;
  drawnWidth = width;
}

void ProgressLine::update(const StepReport &step, double elapsedMs) {
  if (step.evaluation)
    evaluated = step.evaluation->loss;
  const bool isEnd = step.step == before + 1 || step.step >= steps;
  const bool isLogged = logEvery > 0 && step.step % logEvery == 0;
  const double silence = elapsedMs - shownMs;
  if (style == Style::lines) {
    const double limit = std::clamp(elapsedMs, minSilenceMs, maxSilenceMs);
    // The next step may take as long as this one.
    const bool isSilent = logEvery > 0 ? !isLogged : silence + step.ms <= limit;
    if (!isEnd && !step.evaluation && isSilent)
      return;
    out << describeLine(step, elapsedMs) << std::endl;
    shownMs = elapsedMs;
  }
  if (style == Style::bar && isLogged) {
    draw(describeLine(step, elapsedMs));
    out << std::endl;
    drawnWidth = 0;
  }
  if (style == Style::bar && (isEnd || isLogged || silence >= minDrawMs)) {
    draw(drawBar(step, elapsedMs));
    shownMs = elapsedMs;
  }
}
