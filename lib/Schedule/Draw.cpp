//===- Draw.cpp - Pictures of a timeline ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The text names an action only where its name fits.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Picture.h"
#include "pp/Schedule/Simulate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace pp::schedule;

std::string pp::schedule::printBubble(std::optional<double> bubble) {
  if (!bubble)
    return "-";
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f%%", 100 * *bubble);
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
                                   const Timeline &timeline, unsigned columns,
                                   bool tellsBubbles) {
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
    text +=
        rowName(schedule) + std::string(rankWidth - number.size(), ' ') +
        number + " |" + line + "|" +
        (tellsBubbles ? " bubble " + printBubble(timeline.bubble(rank)) : "") +
        "\n";
  }
  return text;
}

//===----------------------------------------------------------------------===//
// SVG
//===----------------------------------------------------------------------===//

std::string pp::schedule::describe(const Schedule &schedule) {
  return (schedule.name.empty() ? "" : schedule.name + ", ") +
         std::to_string(schedule.stages) +
         (schedule.stages == 1 ? " stage, " : " stages, ") +
         std::to_string(schedule.microBatches) +
         (schedule.microBatches == 1 ? " micro-batch" : " micro-batches");
}

std::string pp::schedule::drawSvg(const Schedule &schedule,
                                  const Timeline &timeline,
                                  bool drawsTransfers) {
  Picture picture;
  picture.title = describe(schedule);
  const std::vector<bool> split = splitBackwards(schedule);
  const bool isSplit =
      std::find(split.begin(), split.end(), true) != split.end();
  picture.lines = {
      std::string("as if all stages took the same time and messages none: ") +
      (isSplit ? "each action takes 1" : "forward takes 1, backward 2") +
      "; bubble " + printBubble(timeline.bubble())};
  picture.end = timeline.end;
  for (unsigned rank = 0; rank < timeline.ranks.size(); ++rank) {
    PictureRow row;
    row.name = rowName(schedule) + std::to_string(rank);
    row.note = printBubble(timeline.bubble(rank));
    for (const TimedAction &timed : timeline.ranks[rank])
      row.bars.push_back({static_cast<char>(timed.action.kind),
                          timed.action.stage,
                          int(timed.action.microBatch),
                          timed.start,
                          timed.end,
                          {}});
    picture.rows.push_back(std::move(row));
  }
  if (drawsTransfers)
    for (const TimedTransfer &transfer : timeline.transfers)
      picture.arrows.push_back(
          {transfer.from, transfer.to, transfer.start, transfer.end});
  return drawSvg(picture);
}
