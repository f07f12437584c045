//===- Picture.cpp - a timeline as an SVG picture -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A bar that is wide enough is an element of its own, which says what it is;
// the others are strokes (NarrowBars.h).
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Picture.h"
#include "NarrowBars.h"
#include "pp/Schedule/Looks.h"
#include "pp/Schedule/Svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

using namespace pp::schedule;

namespace {

constexpr double kCharacter = 6.2, kLine = 16, kSwatch = 12, kMargin = 12;
constexpr double kMinWidth = 640, kMaxWidth = 1600;
/// From here on a bar is an element of its own, which says what it is.
constexpr double kWide = 12;
constexpr size_t kManyRows = 24;
constexpr const char *kInk = "#333333", *kFaint = "#777777",
                     *kMemory = "#c9d3df", *kEdge = "#4d6480",
                     *kMark = "#b3001b";

double widthOf(const std::string &text) {
  return kCharacter * double(text.size());
}

/// Stages of a row that the legend tells apart.
constexpr unsigned kMostSwatches = 8;

class Drawing {
public:
  explicit Drawing(const Picture &picture) : picture(picture) {
    for (const PictureRow &row : picture.rows)
      for (const Bar &bar : row.bars)
        kinds[bar.kind] = true;
    rowHeight = picture.rows.size() > kManyRows ? 16 : 24;
    memoryHeight = picture.memory.size() > kManyRows ? 24 : 44;
    layOut();
  }

  std::string draw() const {
    const double rowsEnd = rowsTop + heightOfRows();
    const double memoryTop = rowsEnd + kLine + 34;
    const double height =
        picture.memory.empty()
            ? rowsEnd + 34
            : memoryTop + double(picture.memory.size()) * (memoryHeight + 6) +
                  34;
    std::string text = svg::begin(left + width + right, height) + drawHead() +
                       drawRows() + drawAxis(rowsEnd);
    if (!picture.memory.empty())
      text += drawMemory(memoryTop);
    return text + "</svg>\n";
  }

private:
  /// Numbers fit into the shortest bar unless the picture would be too wide.
  void layOut() {
    double shortest = 0;
    size_t longestNumber = 1;
    size_t name = 0, note = 6;
    for (const PictureRow &row : picture.rows) {
      name = std::max(name, row.name.size());
      note = std::max(note, row.note.size());
      for (const Bar &bar : row.bars) {
        longestNumber = std::max(
            longestNumber, std::to_string(std::max(0, bar.microBatch)).size());
        if (bar.microBatch >= 0 && bar.end > bar.begin &&
            (shortest == 0 || bar.end - bar.begin < shortest))
          shortest = bar.end - bar.begin;
      }
    }
    for (const MemoryCurve &curve : picture.memory) {
      name = std::max(name, curve.name.size());
      note = std::max(note, curve.note.size());
    }
    left = kCharacter * double(name) + 24;
    right = kCharacter * double(note) + 24;
    const double wanted =
        shortest > 0
            ? picture.end / shortest * (kCharacter * double(longestNumber) + 6)
            : 0;
    width = std::clamp(wanted, kMinWidth, kMaxWidth);
    scale = picture.end > 0 ? width / picture.end : 0;
    const unsigned legendLines =
        layOutLegend([](const LegendEntry &, double, unsigned) {});
    rowsTop = 34 + kLine * double(picture.lines.size() + legendLines + 1) + 12;
  }

  double x(double time) const { return left + time * scale; }

  double heightOfRows() const {
    return picture.rows.empty()
               ? 0
               : yOfRow(picture.rows.size() - 1) + rowHeight - rowsTop;
  }

  std::string drawHead() const {
    std::string text = "<g font-size=\"14\" font-weight=\"bold\">" +
                       svg::label(kMargin, 24, "start", kInk, picture.title) +
                       "</g>\n";
    double y = 24 + kLine + 2;
    for (const std::string &line : picture.lines) {
      text += svg::label(kMargin, y, "start", kInk, line);
      y += kLine;
    }
    return text + drawLegend(y - 6) +
           svg::label(left + width + 8, rowsTop - 8, "start", kFaint, "bubble");
  }

  struct LegendEntry {
    std::vector<std::string> fills; ///< none: a transfer
    std::string name;

    double width() const {
      return double(std::max<size_t>(1, fills.size())) * kSwatch + 5 +
             widthOf(name) + 14;
    }
  };

  /// Only what occurs.
  std::vector<LegendEntry> legend() const {
    std::vector<LegendEntry> entries;
    for (char kind : {'F', 'B', 'W', 'U', 'P'})
      if (kinds.count(kind))
        entries.push_back({{fillOf(kind)},
                           kind == 'B' && kinds.count('W')
                               ? "backward, of inputs where W is apart"
                               : lookOf(kind).label});
    if (hasPauses())
      entries.push_back(
          {{mix(idleFill, fillOf('F'), 0.35)}, "begun, but waiting"});
    entries.push_back({{idleFill}, "idle"});
    if (const unsigned stages = mostStages(); stages > 1) {
      LegendEntry entry = {{}, "the first to the last stage of a row"};
      const unsigned swatches = std::min(stages, kMostSwatches);
      for (unsigned i = 0; i < swatches; ++i)
        entry.fills.push_back(fillOf('F', i, swatches));
      entries.push_back(std::move(entry));
    }
    if (!picture.arrows.empty())
      entries.push_back({{}, "transfer, which ends at the dot"});
    return entries;
  }

  /// Goes through the entries, with the place of each: the next line begins
  /// where one would leave the picture.
  template <typename Visit> unsigned layOutLegend(const Visit &visit) const {
    double at = kMargin;
    unsigned line = 0;
    for (const LegendEntry &entry : legend()) {
      if (at > kMargin && at + entry.width() > left + width + right) {
        at = kMargin;
        ++line;
      }
      visit(entry, at, line);
      at += entry.width();
    }
    return line + 1;
  }

  std::string drawLegend(double top) const {
    std::string text;
    layOutLegend([&](const LegendEntry &entry, double at, unsigned line) {
      const double y = top + kLine * line;
      for (const std::string &fill : entry.fills) {
        text += svg::rectangle(at, y, kSwatch, kSwatch, fill.c_str());
        at += kSwatch;
      }
      if (entry.fills.empty()) {
        text += strokeOf("M" + svg::coordinate(at) + " " + svg::coordinate(y) +
                             "l" + svg::coordinate(kSwatch) + " " +
                             svg::coordinate(kSwatch),
                         "M" + svg::coordinate(at + kSwatch) + " " +
                             svg::coordinate(y + kSwatch) + "h0");
        at += kSwatch;
      }
      text += svg::label(at + 5, y + 10, "start", kInk, entry.name);
    });
    return text;
  }

  bool hasPauses() const {
    for (const PictureRow &row : picture.rows)
      for (const Bar &bar : row.bars)
        if (bar.busy.size() > 1)
          return true;
    return false;
  }

  /// The stages of a row, in ascending order.
  static std::vector<unsigned> stagesOf(const PictureRow &row) {
    std::vector<unsigned> stages;
    for (const Bar &bar : row.bars)
      if (bar.microBatch >= 0)
        stages.push_back(bar.stage);
    std::sort(stages.begin(), stages.end());
    stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
    return stages;
  }

  unsigned mostStages() const {
    size_t most = 0;
    for (const PictureRow &row : picture.rows)
      most = std::max(most, stagesOf(row).size());
    return unsigned(most);
  }

  std::string drawRows() const {
    std::string text;
    for (size_t i = 0; i < picture.rows.size(); ++i)
      text += drawRow(picture.rows[i], yOfRow(i));
    return text + drawArrows();
  }

  double yOfRow(size_t index) const {
    double y = rowsTop;
    for (size_t i = 1; i <= index; ++i)
      y += rowHeight + (picture.rows[i].isPaired ? 1 : 6);
    return y;
  }

  /// From the middle of a row to the middle of another, with a dot at the end:
  /// heads of arrows would hide what is narrow.
  std::string drawArrows() const {
    std::string lines, dots;
    for (const Arrow &arrow : picture.arrows) {
      const double from = yOfRow(arrow.from) + rowHeight / 2,
                   to = yOfRow(arrow.to) + rowHeight / 2;
      const double inset = (to > from ? 1 : -1) * (rowHeight / 2 - 4);
      const std::string end =
          svg::coordinate(x(arrow.end)) + " " + svg::coordinate(to - inset);
      lines += "M" + svg::coordinate(x(arrow.begin)) + " " +
               svg::coordinate(from + inset) + "L" + end;
      dots += "M" + end + "h0";
    }
    return lines.empty() ? "" : strokeOf(lines, dots);
  }

  static std::string strokeOf(const std::string &lines,
                              const std::string &dots) {
    return std::string("<g fill=\"none\" stroke=\"") + kInk +
           "\"><path stroke-width=\"0.6\" d=\"" + lines +
           "\"/><path stroke-width=\"3\" stroke-linecap=\"round\" d=\"" + dots +
           "\"/></g>\n";
  }

  std::string drawRow(const PictureRow &row, double y) const {
    const double middle = y + rowHeight / 2;
    std::string text =
        svg::label(left - 8, middle + 4, "end", kInk, row.name) +
        svg::label(left + width + 8, middle + 4, "start", kInk, row.note) +
        svg::rectangle(left, y, width, rowHeight, idleFill);
    const std::vector<unsigned> stages = stagesOf(row);
    Columns columns;
    Strokes below, strokes;
    std::string wide;
    for (const Bar &bar : row.bars) {
      const size_t index =
          size_t(std::lower_bound(stages.begin(), stages.end(), bar.stage) -
                 stages.begin());
      const bool isOfStage = index < stages.size() && bar.microBatch >= 0;
      const std::string fill =
          fillOf(bar.kind, isOfStage ? unsigned(index) : 0,
                 unsigned(std::max<size_t>(1, stages.size())));
      const double length = (bar.end - bar.begin) * scale;
      const bool isWide = length >= kWide;
      if (isWide)
        wide += drawWide(bar, y, fill);
      for (const auto &[begin, end] : merge(bar)) {
        // A hairline of the background parts neighbours that are wide enough.
        const double visible = std::max(
            0.0, (end - begin) * scale - (isWide && end == bar.end ? 0.8 : 0));
        if (visible < 1 && !isWide)
          columns.add(fill, begin * scale, end * scale);
        else if (bar.busy.size() > 1 || !isWide)
          strokes.add(fill, x(begin), middle, visible);
      }
    }
    columns.draw(left, middle, below);
    text += below.draw(rowHeight) + wide + strokes.draw(rowHeight);
    return text + drawNumbers(row, stages, middle + 4);
  }

  /// The parts in which it computes, those that a pixel does not part as one.
  std::vector<std::pair<double, double>> merge(const Bar &bar) const {
    if (bar.busy.empty())
      return {{bar.begin, bar.end}};
    std::vector<std::pair<double, double>> parts;
    for (const auto &part : bar.busy)
      if (!parts.empty() && (part.first - parts.back().second) * scale < 0.5)
        parts.back().second = std::max(parts.back().second, part.second);
      else
        parts.push_back(part);
    return parts;
  }

  /// A bar that says what it is; pale where it does not compute.
  std::string drawWide(const Bar &bar, double y,
                       const std::string &fill) const {
    char times[64];
    std::snprintf(times, sizeof(times), ": %.4g to %.4g", bar.begin, bar.end);
    std::string name = std::to_string(bar.stage) + bar.kind;
    if (bar.microBatch >= 0)
      name += std::to_string(bar.microBatch);
    const std::string its =
        bar.busy.size() > 1 ? mix(idleFill, fill, 0.35) : fill;
    return svg::rectangle(
        x(bar.begin), y, (bar.end - bar.begin) * scale - 0.8, rowHeight,
        its.c_str(),
        "<title>" + name + times +
            svg::escape(picture.unit.empty() ? "" : " " + picture.unit) +
            "</title>");
  }

  std::string drawNumbers(const PictureRow &row,
                          const std::vector<unsigned> &stages,
                          double baseline) const {
    std::string text;
    for (const Bar &bar : row.bars) {
      const std::string number = bar.microBatch >= 0
                                     ? std::to_string(bar.microBatch)
                                     : lookOf(bar.kind).label;
      const double length = (bar.end - bar.begin) * scale;
      if (widthOf(number) + 4 > length || length < kWide)
        continue;
      const size_t index =
          size_t(std::lower_bound(stages.begin(), stages.end(), bar.stage) -
                 stages.begin());
      const std::string fill =
          fillOf(bar.kind, bar.microBatch >= 0 ? unsigned(index) : 0,
                 unsigned(std::max<size_t>(1, stages.size())));
      text += svg::label(x(bar.begin) + length / 2, baseline, "middle",
                         inkOn(fill), number);
    }
    return text;
  }

  std::string drawAxis(double y) const {
    if (picture.end <= 0)
      return "";
    const double interval = svg::roundInterval(picture.end, 6);
    std::string text = svg::line(left, y + 4, left + width, y + 4, kFaint);
    for (double i = 0; i * interval <= picture.end * (1 + 1e-9); ++i) {
      const double at = x(i * interval);
      text += svg::line(at, y + 4, at, y + 8, kFaint);
      text += svg::label(at, y + 20, "middle", kFaint,
                         svg::printTick(i * interval, interval));
    }
    return text +
           svg::label(left + width + 12, y + 20, "start", kFaint, picture.unit);
  }

  /// All on one scale.
  std::string drawMemory(double y) const {
    double most = 0;
    for (const MemoryCurve &curve : picture.memory) {
      most = std::max(most, curve.limit);
      for (const auto &step : curve.steps)
        most = std::max(most, step.second);
    }
    std::string text =
        svg::label(kMargin, y - 8, "start", kInk,
                   "predicted memory: what is live, dashed what the rank "
                   "reserves, the dot is the peak") +
        svg::label(left + width + 8, y - 8, "start", kFaint, "peak");
    for (const MemoryCurve &curve : picture.memory) {
      text += drawCurve(curve, y, most > 0 ? (memoryHeight - 4) / most : 0);
      y += memoryHeight + 6;
    }
    return text + drawAxis(y - 6);
  }

  std::string drawCurve(const MemoryCurve &curve, double top,
                        double perByte) const {
    const double bottom = top + memoryHeight;
    const auto yOf = [&](double bytes) { return bottom - bytes * perByte; };
    std::string path =
        "M" + svg::coordinate(left) + " " + svg::coordinate(bottom);
    std::string last;
    for (const auto &[at, bytes] : outline(curve))
      if (const std::string y = svg::coordinate(yOf(bytes)); y != last) {
        path += "H" + svg::coordinate(at) + "V" + y;
        last = y;
      }
    path += "H" + svg::coordinate(left + width) + "V" +
            svg::coordinate(bottom) + "z";
    std::string text =
        svg::label(left - 8, bottom - memoryHeight / 2 + 4, "end", kInk,
                   curve.name) +
        svg::label(left + width + 8, bottom - memoryHeight / 2 + 4, "start",
                   kMark, curve.note) +
        "<path fill=\"" + kMemory + "\" stroke=\"" + kEdge +
        "\" stroke-width=\"0.8\" d=\"" + path + "\"/>\n";
    if (curve.limit > 0)
      text += svg::line(left, yOf(curve.limit), left + width, yOf(curve.limit),
                        kFaint, " stroke-dasharray=\"5 4\"");
    const auto peak = std::max_element(
        curve.steps.begin(), curve.steps.end(),
        [](const auto &a, const auto &b) { return a.second < b.second; });
    if (peak != curve.steps.end())
      text += "<circle cx=\"" + svg::coordinate(x(peak->first)) + "\" cy=\"" +
              svg::coordinate(yOf(peak->second)) + "\" r=\"3\" fill=\"" +
              kMark + "\"/>\n";
    return text;
  }

  /// From each pixel on the most that is live within it.
  std::vector<std::pair<double, double>>
  outline(const MemoryCurve &curve) const {
    std::vector<std::pair<double, double>> points;
    double last = 0; // what is live when the next pixel begins
    for (size_t i = 0; i < curve.steps.size();) {
      const double pixel = std::floor(curve.steps[i].first * scale);
      double most = last;
      for (; i < curve.steps.size() &&
             std::floor(curve.steps[i].first * scale) == pixel;
           ++i)
        most = std::max(most, last = curve.steps[i].second);
      points.push_back({left + pixel, most});
      const bool goesOn =
          i < curve.steps.size() && curve.steps[i].first * scale < pixel + 2;
      if (most != last && !goesOn)
        points.push_back({left + pixel + 1, last});
    }
    return points;
  }

  const Picture &picture;
  std::map<char, bool> kinds;
  double left = 0, width = 0, right = 0, scale = 0, rowsTop = 0;
  double rowHeight = 0, memoryHeight = 0;
};

} // namespace

std::string pp::schedule::drawSvg(const Picture &picture) {
  return Drawing(picture).draw();
}
