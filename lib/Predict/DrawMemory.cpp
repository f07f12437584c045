//===- DrawMemory.cpp - a memory report as SVG ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A panel for each entry of the report: classes stacked over the instructions
// of a step, actions above, the peak and the size of the arena marked, and a
// legend with the bytes at the peak.
//
//===----------------------------------------------------------------------===//
#include "pp/Predict/MemoryReport.h"
#include "pp/Predict/Table.h"
#include "pp/Schedule/Looks.h"
#include "pp/Schedule/Svg.h"
#include "pprt/Bytes.h"
#include "pprt/Program.h"

#include <algorithm>
#include <cmath>

using namespace pp::predict;
using namespace pprt;
namespace schedule = pp::schedule;
namespace svg = pp::schedule::svg;

namespace {

constexpr double kLeft = 76, kWidth = 760, kLegend = 210, kHeight = 260;
constexpr double kTitle = 34, kActions = 18, kFoot = 46;
constexpr double kCharacter = 6.2;
constexpr const char *kInk = "#333333", *kFaint = "#777777", *kGrid = "#e4e4e4",
                     *kMark = "#b3001b";

/// One plot: instructions to the right, bytes upwards.
class Panel {
public:
  Panel(const ProgramMemory &memory, double top)
      : memory(memory), top(top + kTitle + kActions),
        count(double(std::max<size_t>(1, memory.curve.size()))) {
    // The arena does not include staging.
    arena = double(memory.use.peak - memory.use.staging);
    scale = kHeight / std::max(1.0, arena * 1.08);
  }

  std::string draw() const {
    return drawTitle() + drawGrid() + drawActions() + drawAreas() +
           drawArena() + drawPeak() + drawLegend();
  }

  static double height() { return kTitle + kActions + kHeight + kFoot; }

private:
  double x(size_t instruction) const {
    return kLeft + kWidth * double(instruction) / count;
  }
  double y(double bytes) const { return top + kHeight - bytes * scale; }
  double bottom() const { return top + kHeight; }

  std::string drawTitle() const {
    return "<g font-size=\"14\" font-weight=\"bold\">" +
           svg::label(kLeft, top - kActions - 12, "start", kInk,
                      memory.name + ", " + printRanks(memory.ranks) +
                          ": peak " + printBytes(double(memory.use.peak))) +
           "</g>\n";
  }

  /// Between three and six lines.
  std::string drawGrid() const {
    double unit = 1;
    while (unit * 1024 < arena)
      unit *= 1024;
    double step = unit / 4;
    while (arena / step > 6)
      step *= 2;
    std::string text;
    for (double bytes = 0; bytes <= arena; bytes += step) {
      text += svg::line(kLeft, y(bytes), kLeft + kWidth, y(bytes), kGrid);
      text += svg::label(kLeft - 8, y(bytes) + 4, "end", kFaint,
                         bytes == 0 ? "0" : printBytes(bytes));
    }
    return text + svg::label(kLeft + kWidth, bottom() + 32, "end", kFaint,
                             "instructions of a step");
  }

  std::string drawActions() const {
    std::string text;
    for (const BodyPart &part : memory.parts) {
      const double width = x(part.end) - x(part.first);
      text += svg::rectangle(x(part.first), top - kActions,
                             width > 3 ? width - 1 : width, kActions - 3,
                             schedule::fillOf(phaseLetter(part.phase)).c_str(),
                             "<title>" + part.name + "</title>");
      if (double(part.name.size()) * kCharacter + 2 <= width)
        text += svg::label(x(part.first) + width / 2, top - 7, "middle", kInk,
                           part.name);
      if (&part != &memory.parts.front() && width > 3)
        text += svg::line(x(part.first), top, x(part.first), bottom(), kGrid);
    }
    return text;
  }

  /// The outline of all classes up to `its`: per instruction a step, but no
  /// more of them than there are pixels, of which each shows the highest.
  std::vector<std::pair<double, double>> outline(size_t classes) const {
    std::vector<std::pair<double, double>> points;
    const size_t columns = std::min(memory.curve.size(), size_t(kWidth));
    for (size_t column = 0; column < columns; ++column) {
      const size_t first = column * memory.curve.size() / columns;
      const size_t end = (column + 1) * memory.curve.size() / columns;
      size_t highest = first;
      for (size_t i = first; i < end; ++i)
        if (sum(i, kMemoryClasses.size()) > sum(highest, kMemoryClasses.size()))
          highest = i;
      const double at = y(sum(highest, classes));
      if (!points.empty() && points.back().second == at) {
        points.back().first = x(end);
        continue;
      }
      points.push_back({x(first), at});
      points.push_back({x(end), at});
    }
    return points;
  }

  double sum(size_t instruction, size_t classes) const {
    double bytes = 0;
    for (size_t i = 0; i < classes; ++i)
      bytes += double(memory.curve[instruction][kMemoryClasses[i].slotClass]);
    return bytes;
  }

  bool occurs(const MemoryClass &its) const {
    return std::any_of(
        memory.curve.begin(), memory.curve.end(),
        [&](const ClassBytes &bytes) { return bytes[its.slotClass] > 0; });
  }

  std::string drawAreas() const {
    std::string text;
    for (size_t i = 0; i < kMemoryClasses.size(); ++i) {
      const MemoryClass &its = kMemoryClasses[i];
      if (!occurs(its))
        continue;
      auto points = outline(i + 1);
      const auto below = outline(i);
      points.insert(points.end(), below.rbegin(), below.rend());
      text += "<polygon fill=\"" + std::string(its.fill) + "\" points=\"";
      for (const auto &[px, py] : points)
        text += svg::coordinate(px) + "," + svg::coordinate(py) + " ";
      text += "\"><title>" + std::string(its.name) + "</title></polygon>\n";
    }
    return text;
  }

  std::string drawArena() const {
    return svg::line(kLeft, y(arena), kLeft + kWidth, y(arena), kInk,
                     " stroke-dasharray=\"5 4\"") +
           svg::label(kLeft + kWidth, y(arena) - 5, "end", kInk,
                      "arena " + printBytes(arena));
  }

  std::string drawPeak() const {
    if (memory.curve.empty())
      return "";
    const double at = (x(memory.peak) + x(memory.peak + 1)) / 2;
    const std::string what =
        "most live: " + printBytes(double(memory.live)) + " at " +
        memory.peakAction + " " + memory.peakOp +
        (memory.peakPlace.empty() ? "" : " of " + memory.peakPlace);
    // The label stays within the plot.
    const double half = kCharacter * double(what.size()) / 2;
    const double middle = std::clamp(
        at, kLeft + half, std::max(kLeft + half, kLeft + kWidth - half));
    return svg::line(at, y(double(memory.live)), at, bottom() + 6, kMark,
                     " stroke-width=\"1.5\"") +
           "<circle cx=\"" + svg::coordinate(at) + "\" cy=\"" +
           svg::coordinate(y(double(memory.live))) + "\" r=\"3.5\" fill=\"" +
           kMark + "\"/>\n" +
           svg::label(middle, bottom() + 18, "middle", kMark, what);
  }

  std::string drawLegend() const {
    const double left = kLeft + kWidth + 24;
    double at = top;
    std::string text =
        svg::label(left + kLegend - 24, at - 8, "end", kFaint, "at the peak");
    const auto add = [&](const char *fill, const std::string &name,
                         uint64_t bytes) {
      if (fill)
        text += svg::rectangle(left, at, 12, 12, fill);
      text += svg::label(left + 18, at + 10, "start", kInk, name);
      text += svg::label(left + kLegend - 24, at + 10, "end", kInk,
                         bytes ? printBytes(double(bytes)) : "-");
      at += 19;
    };
    // From top to bottom, as they are stacked.
    for (size_t i = kMemoryClasses.size(); i-- > 0;)
      if (occurs(kMemoryClasses[i]))
        add(kMemoryClasses[i].fill, kMemoryClasses[i].name,
            memory.bytesOf(kMemoryClasses[i].slotClass));
    if (memory.use.staging)
      add(nullptr, "staging", memory.use.staging);
    if (memory.unused.alignment)
      add(nullptr, "alignment", memory.unused.alignment);
    if (memory.unused.fragmentation())
      add(nullptr, "fragmentation", memory.unused.fragmentation());
    text += svg::line(left, at - 1, left + kLegend - 24, at - 1, kFaint);
    at += 3;
    add(nullptr, "peak", memory.use.peak);
    return text;
  }

  const ProgramMemory &memory;
  double top, count, arena = 0, scale = 0;
};

} // namespace

/// Phases that occur.
static std::string drawPhases(const MemoryReport &report) {
  std::string text;
  double x = kLeft;
  for (ppx::Phase phase : ppx::EnumValuesPhase()) {
    const auto has = [&](const ProgramMemory &memory) {
      return std::any_of(
          memory.parts.begin(), memory.parts.end(),
          [&](const BodyPart &part) { return part.phase == phase; });
    };
    if (!std::any_of(report.begin(), report.end(), has))
      continue;
    const char letter = phaseLetter(phase);
    const std::string label = schedule::lookOf(letter).label;
    text += svg::rectangle(x, 12, 12, 12, schedule::fillOf(letter).c_str());
    text += svg::label(x + 17, 22, "start", kInk, label);
    x += 17 + kCharacter * double(label.size()) + 18;
  }
  return text;
}

std::string pp::predict::drawMemory(const MemoryReport &report) {
  constexpr double head = 34;
  std::string text =
      svg::begin(kLeft + kWidth + kLegend + 20,
                 head + Panel::height() * double(report.size())) +
      drawPhases(report);
  for (size_t i = 0; i < report.size(); ++i)
    text += Panel(report[i], head + Panel::height() * double(i)).draw();
  return text + "</svg>\n";
}
