//===- HangReport.cpp - who waits on whom ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "HangReport.h"

#include <algorithm>
#include <cstdio>
#include <map>

using namespace pprt;
using namespace pprt::cpu;

namespace {

class Reporter {
public:
  Reporter(const std::vector<std::unique_ptr<Rank>> &ranks,
           const std::vector<Meeting> &meetings)
      : ranks(ranks) {
    for (const Meeting &meeting : meetings)
      meetingOf[meeting.rendezvous.get()] = &meeting;
  }

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
  std::vector<uint32_t> missing(const Task &task) const;
  std::string chain(const std::vector<Line> &lines) const;

  const std::vector<std::unique_ptr<Rank>> &ranks;
  std::map<const inprocess::Rendezvous *, const Meeting *> meetingOf;
};

} // namespace

static std::string list(const std::vector<uint32_t> &values) {
  std::string text;
  for (uint32_t value : values)
    text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

/// Whether the rank has started `task`, in the section it is running.
static bool hasStarted(const Rank &rank, const Task &task) {
  const int section = rank.section.load(std::memory_order_relaxed);
  if (section < 0)
    return true; // at the end of the section, so it has done everything
  const uint32_t queue = task.instruction->queue;
  const std::vector<Task> &tasks = rank.tasks[section][queue];
  const uint32_t done = rank.queues[queue].done.load(std::memory_order_relaxed);
  const auto position = size_t(&task - tasks.data());
  return position < done ||
         (position == done &&
          rank.queues[queue].started.load(std::memory_order_relaxed));
}

std::vector<uint32_t> Reporter::missing(const Task &task) const {
  std::vector<uint32_t> result;
  for (const auto &[rank, theirs] : meetingOf.at(task.rendezvous)->members)
    if (!hasStarted(*rank, *theirs))
      result.push_back(rank->index);
  return result;
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
  if (!task.rendezvous) {
    line.computes = name + where;
    line.text += "; has not finished " + line.computes;
    return;
  }
  const std::vector<uint32_t> absent = missing(task);
  std::vector<uint32_t> members;
  for (const auto &[member, theirs] : meetingOf.at(task.rendezvous)->members)
    members.push_back(member->index);
  line.text +=
      "; waits in " + name + where + " (members " + list(members) +
      (absent.empty() ? "; all there)" : "; missing " + list(absent) + ")");
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
  std::vector<uint32_t> path;
  for (uint32_t rank = 0; rank < lines.size() && path.empty(); ++rank)
    if (!lines[rank].waitsFor.empty())
      path.push_back(rank);
  while (!path.empty() && !lines[path.back()].waitsFor.empty()) {
    const uint32_t next = lines[path.back()].waitsFor.front();
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
  for (uint32_t rank = 0; rank < lines.size(); ++rank)
    if (!lines[rank].computes.empty()) {
      text += "; cause: rank " + std::to_string(rank) + " has not finished " +
              lines[rank].computes;
      break;
    }
  for (uint32_t rank = 0; rank < lines.size(); ++rank)
    text += "\n  rank " + std::to_string(rank) + ": " +
            (lines[rank].text.empty() ? "idle" : lines[rank].text.substr(2));
  if (const std::string path = chain(lines); !path.empty())
    text += "\n  wait-for: " + path;
  return text;
}

std::string cpu::hangReport(const std::vector<std::unique_ptr<Rank>> &ranks,
                            const std::vector<Meeting> &meetings, int64_t step,
                            double seconds) {
  return Reporter(ranks, meetings).report(step, seconds);
}
