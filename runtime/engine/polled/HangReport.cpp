//===- HangReport.cpp - ranks that wait for each other --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "HangReport.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace pprt;
using namespace pprt::polled;

//===----------------------------------------------------------------------===//
// States of ranks
//===----------------------------------------------------------------------===//

std::vector<RankState>
polled::statesOf(const std::vector<std::unique_ptr<Rank>> &ranks) {
  std::vector<RankState> states;
  for (const std::unique_ptr<Rank> &rank : ranks) {
    RankState &state = states.emplace_back();
    state.index = rank->index;
    state.section = rank->section.load(std::memory_order_relaxed);
    if (state.section < 0)
      continue;
    for (size_t queue = 0; queue < rank->queues.size(); ++queue) {
      RankState::Queue &its = state.queues.emplace_back();
      its.done = rank->queues[queue].done.load(std::memory_order_relaxed);
      its.hasStarted =
          rank->queues[queue].started.load(std::memory_order_relaxed);
      const std::vector<QueuedTask> &tasks = rank->tasks[state.section][queue];
      if (its.done >= tasks.size() || !tasks[its.done].commOp)
        continue;
      its.members = tasks[its.done].commOp->ranks;
      its.indices = tasks[its.done].commOp->indices;
    }
  }
  return states;
}

std::vector<std::byte>
polled::packStates(const std::vector<RankState> &states) {
  std::vector<uint32_t> words;
  const auto add = [&](const std::vector<uint32_t> &values) {
    words.push_back(uint32_t(values.size()));
    words.insert(words.end(), values.begin(), values.end());
  };
  for (const RankState &state : states) {
    words.insert(words.end(), {state.index, uint32_t(state.section),
                               uint32_t(state.queues.size())});
    for (const RankState::Queue &queue : state.queues) {
      words.insert(words.end(), {queue.done, queue.hasStarted});
      add(queue.members);
      add(queue.indices);
    }
  }
  const auto *begin = reinterpret_cast<const std::byte *>(words.data());
  return {begin, begin + words.size() * sizeof(uint32_t)};
}

void polled::unpackStates(const std::vector<std::byte> &bytes,
                          std::vector<RankState> &states) {
  size_t at = 0;
  const auto next = [&] {
    uint32_t word = 0;
    if (bytes.size() - at >= sizeof(word)) {
      std::memcpy(&word, bytes.data() + at, sizeof(word));
      at += sizeof(word);
    }
    return word;
  };
  const auto read = [&](std::vector<uint32_t> &values) {
    for (uint32_t count = next(); count > 0 && at < bytes.size(); --count)
      values.push_back(next());
  };
  while (at < bytes.size()) {
    RankState &state = states.emplace_back();
    state.index = next();
    state.section = int(next());
    for (uint32_t count = next(); count > 0 && at < bytes.size(); --count) {
      RankState::Queue &queue = state.queues.emplace_back();
      queue.done = next();
      queue.hasStarted = next() != 0;
      read(queue.members);
      read(queue.indices);
    }
  }
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

namespace {

class Reporter {
public:
  Reporter(const Ranks &programs, const std::vector<RankState> &states)
      : programs(programs), states(states) {}

  std::string report(int64_t step, double seconds);

private:
  /// The action of one rank, and the ranks it waits for.
  struct Line {
    std::string text;
    std::vector<uint32_t> waitsFor;
  };
  Line describe(const RankState &rank) const;
  void describeHead(const RankState &rank, uint32_t queue, uint32_t index,
                    Line &line) const;
  bool hasStarted(const RankState &rank, int section, uint32_t index) const;
  /// Returns null if nothing is known of the rank.
  const RankState *find(uint32_t rank) const;
  std::string chain(const std::vector<Line> &lines) const;
  const InstructionList &instructions(const RankState &rank,
                                      int section) const {
    return programs.instructions(rank.index, Section(section));
  }

  const Ranks &programs;
  const std::vector<RankState> &states;
};

} // namespace

/// Index in the list of the queue's next instruction; none if all are done.
static std::optional<uint32_t> headOf(const InstructionList &list,
                                      uint32_t queue, uint32_t done) {
  for (uint32_t index = 0; index < list.size(); ++index)
    if (list[index]->queue == queue && done-- == 0)
      return index;
  return std::nullopt;
}

/// Prints three or more consecutive numbers as a range: "0-3,8".
static std::string list(const std::vector<uint32_t> &values) {
  std::string text;
  for (size_t begin = 0, end; begin < values.size(); begin = end) {
    end = begin + 1;
    while (end < values.size() && values[end] == values[end - 1] + 1)
      ++end;
    if (end - begin < 3)
      end = begin + 1;
    text += (text.empty() ? "" : ",") + std::to_string(values[begin]);
    if (end - begin > 1)
      text += "-" + std::to_string(values[end - 1]);
  }
  return text;
}

/// Whether the rank has started instruction `index` of `section`, if it runs
/// that section.
bool Reporter::hasStarted(const RankState &rank, int section,
                          uint32_t index) const {
  if (rank.section != section)
    return true; // it is at the end of the section, so it has done everything
  const InstructionList &list = instructions(rank, section);
  const uint32_t queue = list[index]->queue;
  const RankState::Queue &its = rank.queues[queue];
  const std::optional<uint32_t> head = headOf(list, queue, its.done);
  return !head || index < *head || (index == *head && its.hasStarted);
}

const RankState *Reporter::find(uint32_t rank) const {
  const auto found =
      std::find_if(states.begin(), states.end(),
                   [&](const RankState &state) { return state.index == rank; });
  return found != states.end() ? &*found : nullptr;
}

void Reporter::describeHead(const RankState &rank, uint32_t queue,
                            uint32_t index, Line &line) const {
  const ppx::ProgramT &program = programs.program(rank.index);
  const InstructionList &body = instructions(rank, rank.section);
  const RankState::Queue &its = rank.queues[queue];
  const std::string name = instructionName(body[index]);
  const std::string where = " (queue '" + program.queues[queue]->name +
                            "', instruction " + std::to_string(index) + ")";
  if (!its.hasStarted) {
    for (const ppx::Wait &wait : body.waits(index)) {
      const uint32_t done = rank.queues[wait.queue()].done;
      if (done < wait.count())
        line.text += "; " + name + where + " waits for queue '" +
                     program.queues[wait.queue()]->name + "' to complete " +
                     std::to_string(wait.count()) + ", it has " +
                     std::to_string(done);
    }
    return;
  }
  if (its.members.empty()) { // it has just begun
    line.text += "; computes " + name + where;
    return;
  }
  std::vector<uint32_t> absent;
  bool areAllKnown = true;
  for (size_t member = 0; member < its.members.size(); ++member) {
    const RankState *other = find(its.members[member]);
    areAllKnown &= other != nullptr;
    if (other && !hasStarted(*other, rank.section, its.indices[member]))
      absent.push_back(other->index);
  }
  line.text += "; waits in " + name + where + " (members " + list(its.members) +
               (!absent.empty() ? "; missing " + list(absent) + ")"
                : areAllKnown   ? "; all arrived, messages not complete)"
                                : "; all of this process arrived)");
  line.waitsFor.insert(line.waitsFor.end(), absent.begin(), absent.end());
}

Reporter::Line Reporter::describe(const RankState &rank) const {
  Line line;
  if (rank.section < 0) {
    line.text = "; has finished";
    return line;
  }
  const InstructionList &list = instructions(rank, rank.section);
  const bool anyStarted =
      std::any_of(rank.queues.begin(), rank.queues.end(),
                  [](const RankState::Queue &its) { return its.hasStarted; });
  for (uint32_t queue = 0; queue < rank.queues.size(); ++queue)
    if (const auto head = headOf(list, queue, rank.queues[queue].done);
        // An instruction that has not started waits for the rank's own queues,
        // and so for one that has started.
        head && (rank.queues[queue].hasStarted || !anyStarted))
      describeHead(rank, queue, *head, line);
  return line;
}

/// Follows the first missing member from rank to rank, until a rank that waits
/// for none or one seen before.
std::string Reporter::chain(const std::vector<Line> &lines) const {
  // `find` succeeds: unknown ranks do not occur as missing members.
  const auto lineOf = [&](uint32_t rank) -> const Line & {
    return lines[size_t(find(rank) - states.data())];
  };
  std::vector<uint32_t> path;
  for (size_t i = 0; i < lines.size() && path.empty(); ++i)
    if (!lines[i].waitsFor.empty())
      path.push_back(states[i].index);
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
  for (const RankState &rank : states)
    lines.push_back(describe(rank));
  char time[32];
  std::snprintf(time, sizeof(time), "%.1f", seconds);
  // Finished ranks wait for the others, in the same section.
  int section = -1;
  for (const RankState &rank : states)
    section = std::max(section, rank.section);
  std::string text =
      section == int(Section::body)
          ? "hang at step " + std::to_string(step + 1)
          : std::string("hang in ") +
                (section == int(Section::setup) ? "setup" : "teardown");
  text += std::string(", ") + time + " s without progress";
  const auto nameOf = [&](size_t line) {
    return "rank " + std::to_string(states[line].index);
  };
  // Ranks that wait for the same share the line of the first of them.
  std::vector<bool> isTold(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    std::vector<uint32_t> same;
    for (size_t other = i; other < lines.size() && !isTold[i]; ++other)
      if (lines[other].text == lines[i].text) {
        same.push_back(states[other].index);
        if (other != i)
          isTold[other] = true;
      }
    if (!same.empty())
      text += "\n  " +
              (same.size() == 1 ? nameOf(i) : "each of ranks " + list(same)) +
              ": " + (lines[i].text.empty() ? "idle" : lines[i].text.substr(2));
  }
  std::vector<uint32_t> elsewhere;
  for (uint32_t rank = 0; rank < programs.mesh.worldSize(); ++rank)
    if (!find(rank))
      elsewhere.push_back(rank);
  if (!elsewhere.empty())
    text += "\n  not here: ranks " + list(elsewhere) +
            ", whose processes closed the session or wait in another call";
  if (const std::string path = chain(lines); !path.empty())
    text += "\n  wait-for: " + path;
  return text;
}

std::string polled::hangReport(const Ranks &programs,
                               const std::vector<RankState> &states,
                               int64_t step, double seconds) {
  return Reporter(programs, states).report(step, seconds);
}
