//===- HangReport.cpp - who waits on whom ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "HangReport.h"

#include <algorithm>
#include <cstdio>

using namespace pprt;
using namespace pprt::polled;

namespace {

class Reporter {
public:
  explicit Reporter(const std::vector<std::unique_ptr<Rank>> &ranks)
      : ranks(ranks) {}

  std::string report(int64_t step, double seconds);

private:
  /// What one rank is doing, and the ranks it waits for.
  struct Line {
    std::string text;
    std::vector<uint32_t> waitsFor;
    std::string computes; ///< the kernel that has not returned, if any
  };
  Line describe(const Rank &rank) const;
  void describeHead(const Rank &rank, uint32_t queue, const Task &task,
                    Line &line) const;
  /// Null if the rank is in another process.
  const Rank *find(uint32_t rank) const;
  std::string chain(const std::vector<Line> &lines) const;

  const std::vector<std::unique_ptr<Rank>> &ranks;
};

} // namespace

static std::string list(const std::vector<uint32_t> &values) {
  std::string text;
  for (uint32_t value : values)
    text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

/// Whether the rank has started instruction `index` of `section`, if it runs
/// that section.
static bool hasStarted(const Rank &rank, Section section, uint32_t index) {
  if (rank.section.load(std::memory_order_relaxed) != int(section))
    return true; // at the end of the section, so it has done everything
  const uint32_t queue = instructionsOf(rank.program, section)[index]->queue;
  const std::vector<Task> &tasks = rank.tasks[size_t(section)][queue];
  const uint32_t done = rank.queues[queue].done.load(std::memory_order_relaxed);
  if (done == tasks.size() || index < tasks[done].index)
    return true;
  return index == tasks[done].index &&
         rank.queues[queue].started.load(std::memory_order_relaxed);
}

const Rank *Reporter::find(uint32_t rank) const {
  const uint32_t first = ranks.front()->index;
  return rank >= first && rank - first < ranks.size()
             ? ranks[rank - first].get()
             : nullptr;
}

void Reporter::describeHead(const Rank &rank, uint32_t queue, const Task &task,
                            Line &line) const {
  const ppx::InstructionT &instruction = *task.instruction;
  const std::string name = instructionName(instruction);
  const std::string where = " (queue '" + rank.program.queues[queue]->name +
                            "', instruction " + std::to_string(task.index) +
                            ")";
  if (!rank.queues[queue].started.load(std::memory_order_relaxed)) {
    for (const ppx::Wait &wait : instruction.waits) {
      const uint32_t done =
          rank.queues[wait.queue()].done.load(std::memory_order_relaxed);
      if (done < wait.count())
        line.text += "; " + name + where + " waits for queue '" +
                     rank.program.queues[wait.queue()]->name +
                     "' to complete " + std::to_string(wait.count()) +
                     ", it has " + std::to_string(done);
    }
    return;
  }
  if (!task.meeting) {
    line.computes = name + where;
    line.text += "; has not finished " + line.computes;
    return;
  }
  const Meeting &meeting = *task.meeting;
  std::vector<uint32_t> absent;
  bool areAllHere = true;
  for (size_t member = 0; member < meeting.ranks.size(); ++member) {
    const Rank *other = find(meeting.ranks[member]);
    areAllHere &= other != nullptr;
    if (other && !hasStarted(*other, meeting.section, meeting.indices[member]))
      absent.push_back(other->index);
  }
  line.text += "; waits in " + name + where + " (members " +
               list(meeting.ranks) +
               (!absent.empty() ? "; missing " + list(absent) + ")"
                : areAllHere    ? "; all there)"
                                : "; all of this process there)");
  line.waitsFor.insert(line.waitsFor.end(), absent.begin(), absent.end());
}

Reporter::Line Reporter::describe(const Rank &rank) const {
  Line line;
  const int section = rank.section.load(std::memory_order_relaxed);
  if (section < 0) {
    line.text = "; has finished";
    return line;
  }
  for (uint32_t queue = 0; queue < rank.queues.size(); ++queue) {
    const std::vector<Task> &tasks = rank.tasks[section][queue];
    const uint32_t done =
        rank.queues[queue].done.load(std::memory_order_relaxed);
    if (done < tasks.size())
      describeHead(rank, queue, tasks[done], line);
  }
  return line;
}

/// Follows the first missing member from rank to rank, until one that computes
/// or one seen before.
std::string Reporter::chain(const std::vector<Line> &lines) const {
  const uint32_t first = ranks.front()->index;
  const auto lineOf = [&](uint32_t rank) -> const Line & {
    return lines[rank - first];
  };
  std::vector<uint32_t> path;
  for (size_t i = 0; i < lines.size() && path.empty(); ++i)
    if (!lines[i].waitsFor.empty())
      path.push_back(ranks[i]->index);
  while (!path.empty() && !lineOf(path.back()).waitsFor.empty()) {
    const uint32_t next = lineOf(path.back()).waitsFor.front();
    const bool seen = std::find(path.begin(), path.end(), next) != path.end();
    path.push_back(next);
    if (seen)
      break;
  }
  std::string text;
  for (uint32_t rank : path)
    text += (text.empty() ? "" : " -> ") + std::to_string(rank);
  return text;
}

std::string Reporter::report(int64_t step, double seconds) {
  std::vector<Line> lines;
  for (const std::unique_ptr<Rank> &rank : ranks)
    lines.push_back(describe(*rank));
  char time[32];
  std::snprintf(time, sizeof(time), "%.1f", seconds);
  std::string text = "hang at step " + std::to_string(step) + ", " + time +
                     " s without progress";
  const auto nameOf = [&](size_t line) {
    return "rank " + std::to_string(ranks[line]->index);
  };
  for (size_t i = 0; i < lines.size(); ++i)
    if (!lines[i].computes.empty()) {
      text +=
          "; cause: " + nameOf(i) + " has not finished " + lines[i].computes;
      break;
    }
  for (size_t i = 0; i < lines.size(); ++i)
    text += "\n  " + nameOf(i) + ": " +
            (lines[i].text.empty() ? "idle" : lines[i].text.substr(2));
  if (const std::string path = chain(lines); !path.empty())
    text += "\n  wait-for: " + path;
  return text;
}

std::string polled::hangReport(const std::vector<std::unique_ptr<Rank>> &ranks,
                               int64_t step, double seconds) {
  return Reporter(ranks).report(step, seconds);
}
