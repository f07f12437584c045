//===- Draw.cpp - Pictures of a timeline ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Both pictures scale time to a fixed width and name an action only where its
// name fits.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Simulate.h"
#include "pp/Schedule/Svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace pp::schedule;
using svg::label;
using svg::rectangle;

static std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f%%", 100 * share);
  return text;
}

/// The duration of the shortest action that takes any time, or 0.
static double shortestAction(const Timeline &timeline) {
  double shortest = 0;
  for (const std::vector<TimedAction> &actions : timeline.ranks)
    for (const TimedAction &timed : actions) {
      double duration = timed.end - timed.start;
      if (duration > 0 && (shortest == 0 || duration < shortest))
        shortest = duration;
    }
  return shortest;
}

static size_t longestName(const Schedule &schedule) {
  size_t longest = 0;
  for (const std::vector<Action> &actions : schedule.ranks)
    for (const Action &action : actions)
      longest = std::max(longest, print(action).size());
  return longest;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string pp::schedule::drawText(const Schedule &schedule,
                                   const Timeline &timeline, unsigned columns) {
  // Wide enough to name the shortest action, if the line allows it.
  double shortest = shortestAction(timeline);
  double scale = shortest > 0 ? (longestName(schedule) + 1) / shortest : 0;
  if (timeline.end * scale > columns)
    scale = columns / timeline.end;
  auto column = [&](double time) {
    return static_cast<size_t>(std::lround(time * scale));
  };

  size_t rankWidth = std::to_string(schedule.ranks.size() - 1).size();
  std::string text;
  for (unsigned rank = 0; rank < timeline.ranks.size(); ++rank) {
    std::string line(column(timeline.end), '.');
    for (const TimedAction &timed : timeline.ranks[rank]) {
      size_t begin = column(timed.start), end = column(timed.end);
      if (begin == end)
        continue;
      // The last column separates the action from the next one.
      std::string name = print(timed.action);
      if (name.size() + 1 > end - begin)
        name = std::string(1, static_cast<char>(timed.action.kind));
      name.resize(std::max(name.size(), end - begin - 1), '-');
      name.resize(end - begin, ' ');
      line.replace(begin, end - begin, name);
    }
    std::string number = std::to_string(rank);
    text += rowName(schedule) + std::string(rankWidth - number.size(), ' ') +
            number + " |" + line + "| bubble " +
            percent(timeline.bubble(rank)) + "\n";
  }
  return text;
}

//===----------------------------------------------------------------------===//
// SVG
//===----------------------------------------------------------------------===//

namespace {
/// The look of a kind of action. Colours differ in lightness as well.
struct Style {
  Kind kind;
  const char *label, *fill, *ink;
};
} // namespace

static const Style styles[] = {
    {Kind::Forward, "F forward", "#9ecae9", "#10324a"},
    {Kind::Backward, "B backward", "#f4a259", "#4a2503"},
    {Kind::Weight, "W weight gradient", "#5b8e7d", "#ffffff"},
};
static const char *const idleFill = "#eeeeee";

static const Style &styleOf(Kind kind) {
  return *std::find_if(std::begin(styles), std::end(styles),
                       [&](const Style &style) { return style.kind == kind; });
}

std::string pp::schedule::drawSvg(const Schedule &schedule,
                                  const Timeline &timeline) {
  constexpr double rowHeight = 26, rowGap = 4, left = 64, right = 72, top = 44;
  constexpr double characterWidth = 6.2, minWidth = 480, maxWidth = 1600;
  const char *ink = "#333333";

  // Names fit into the shortest action unless the picture would be too wide.
  // With one stage per rank the row says the stage.
  bool oneStagePerRank = schedule.stages == schedule.ranks.size();
  auto nameOf = [&](const Action &action) {
    return oneStagePerRank ? static_cast<char>(action.kind) +
                                 std::to_string(action.microBatch)
                           : print(action);
  };
  double shortest = shortestAction(timeline);
  double nameWidth = characterWidth * (longestName(schedule) + 1);
  double width = minWidth;
  if (shortest > 0)
    width = std::min(maxWidth,
                     std::max(minWidth, timeline.end / shortest * nameWidth));
  double scale = timeline.end > 0 ? width / timeline.end : 0;
  double height = top + timeline.ranks.size() * (rowHeight + rowGap) + 10;
  double total = left + width + right;

  std::string svg = svg::begin(total, height);

  // Legend: only kinds that occur.
  double x = left;
  auto addLegend = [&](const char *fill, const std::string &content) {
    svg += rectangle(x, 12, 12, 12, fill, "");
    svg += label(x + 17, 22, "start", ink, content);
    x += 17 + characterWidth * content.size() + 16;
  };
  for (const Style &style : styles)
    for (const std::vector<Action> &actions : schedule.ranks)
      if (std::any_of(actions.begin(), actions.end(),
                      [&](const Action &a) { return a.kind == style.kind; })) {
        addLegend(style.fill, style.label);
        break;
      }
  addLegend(idleFill, "idle");
  x += 16;
  svg += label(x, 22, "start", ink,
               schedule.name + ", " + std::to_string(schedule.stages) +
                   " stages, " + std::to_string(schedule.microBatches) +
                   " micro-batches");
  svg += label(total - 8, 36, "end", ink, "bubble");

  for (unsigned rank = 0; rank < timeline.ranks.size(); ++rank) {
    double y = top + rank * (rowHeight + rowGap);
    double baseline = y + rowHeight / 2 + 4;
    svg += label(left - 8, baseline, "end", ink,
                 rowName(schedule) + std::to_string(rank));
    svg += rectangle(left, y, width, rowHeight, idleFill, "");
    for (const TimedAction &timed : timeline.ranks[rank]) {
      const Style &style = styleOf(timed.action.kind);
      double begin = left + timed.start * scale;
      double length = (timed.end - timed.start) * scale;
      // A hairline of the background parts neighbours that are wide enough.
      double visible = length > 4 ? length - 1 : length;
      char times[64];
      std::snprintf(times, sizeof(times), ": %g to %g", timed.start, timed.end);
      svg += rectangle(begin, y, visible, rowHeight, style.fill,
                       "<title>" + print(timed.action) + times + "</title>");
      std::string name = nameOf(timed.action);
      if (name.size() * characterWidth + 4 <= length)
        svg += label(begin + length / 2, baseline, "middle", style.ink, name);
    }
    svg +=
        label(total - 8, baseline, "end", ink, percent(timeline.bubble(rank)));
  }
  return svg + "</svg>\n";
}
