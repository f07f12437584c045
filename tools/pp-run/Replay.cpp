//===- Replay.cpp - a step's timeline from durations ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Replay.h"
#include "pprt/Program.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

using namespace pp::run;
using namespace pprt;

const ppx::ProgramT &pp::run::programOf(const ppx::ArtifactT &artifact,
                                        uint32_t rank) {
  for (const auto &program : artifact.programs)
    if (std::find(program->ranks.begin(), program->ranks.end(), rank) !=
        program->ranks.end())
      return *program;
  // The artifact's structure was checked: every rank has a program.
  return *artifact.programs.front();
}

std::vector<std::vector<Place>>
pp::run::findMeetings(const ppx::ArtifactT &artifact, const Mesh &mesh) {
  // A meeting is known by the edge's ends, or by the group and its first
  // member, and by its turn among those of the same ends.
  using Ends = std::tuple<bool, uint32_t, uint32_t>;
  std::map<std::pair<Ends, uint64_t>, std::vector<Place>> meetings;
  for (uint32_t rank = 0; rank < mesh.worldSize(); ++rank) {
    std::map<Ends, uint64_t> turns;
    const InstructionList &body = programOf(artifact, rank).body;
    for (size_t i = 0; i < body.size(); ++i) {
      const ppx::InstructionT &instruction = *body[i];
      Ends ends;
      if (instruction.opcode == ppx::Opcode_send)
        ends = {true, rank, mesh.peer(rank, instruction.peer_stage)};
      else if (instruction.opcode == ppx::Opcode_recv)
        ends = {true, mesh.peer(rank, instruction.peer_stage), rank};
      else if (instruction.opcode == ppx::Opcode_collective)
        ends = {false, instruction.group,
                mesh.leader(*artifact.groups[instruction.group], rank)};
      else
        continue;
      meetings[{ends, turns[ends]++}].push_back({rank, i});
    }
  }
  std::vector<std::vector<Place>> result;
  for (auto &[key, places] : meetings)
    result.push_back(std::move(places));
  return result;
}

namespace {

/// The state of one rank: how far each queue is.
struct Progress {
  const InstructionList *body;
  /// By queue, its instructions; and how many of them are done.
  std::vector<std::vector<size_t>> queues;
  std::vector<size_t> done;
};

class Replayer {
public:
  Replayer(const ppx::ArtifactT &artifact, const Mesh &mesh,
           const std::function<double(Place)> &duration);

  Timeline run();

private:
  /// When the head of a queue can start; nothing if its waits do not hold.
  std::optional<double> readyTime(const Progress &rank, uint32_t rankIndex,
                                  uint32_t queue) const;
  bool advance(uint32_t rank, uint32_t queue);

  const std::function<double(Place)> &duration;
  std::vector<std::vector<Place>> meetings;
  /// By rank and instruction: its meeting, or none.
  std::vector<std::map<size_t, size_t>> meetingOf;
  std::vector<Progress> ranks;
  Timeline timeline;
};

Replayer::Replayer(const ppx::ArtifactT &artifact, const Mesh &mesh,
                   const std::function<double(Place)> &duration)
    : duration(duration), meetings(findMeetings(artifact, mesh)),
      meetingOf(mesh.worldSize()) {
  for (size_t m = 0; m < meetings.size(); ++m)
    for (Place place : meetings[m])
      meetingOf[place.rank][place.index] = m;
  for (uint32_t rank = 0; rank < mesh.worldSize(); ++rank) {
    const ppx::ProgramT &program = programOf(artifact, rank);
    Progress progress;
    progress.body = &program.body;
    progress.queues.resize(program.queues.size());
    progress.done.resize(program.queues.size());
    for (size_t i = 0; i < program.body.size(); ++i)
      progress.queues[program.body[i]->queue].push_back(i);
    ranks.push_back(std::move(progress));
    timeline.emplace_back(program.body.size());
  }
}

std::optional<double> Replayer::readyTime(const Progress &rank,
                                          uint32_t rankIndex,
                                          uint32_t queue) const {
  const std::vector<Span> &spans = timeline[rankIndex];
  const size_t position = rank.done[queue];
  const ppx::InstructionT &head = *(*rank.body)[rank.queues[queue][position]];
  double ready =
      position == 0 ? 0 : spans[rank.queues[queue][position - 1]].end;
  for (const ppx::Wait &wait : head.waits) {
    if (rank.done[wait.queue()] < wait.count())
      return std::nullopt;
    if (wait.count() > 0)
      ready = std::max(ready,
                       spans[rank.queues[wait.queue()][wait.count() - 1]].end);
  }
  return ready;
}

bool Replayer::advance(uint32_t rank, uint32_t queue) {
  Progress &progress = ranks[rank];
  if (progress.done[queue] == progress.queues[queue].size())
    return false;
  const size_t index = progress.queues[queue][progress.done[queue]];
  const auto meeting = meetingOf[rank].find(index);
  if (meeting == meetingOf[rank].end()) {
    const std::optional<double> ready = readyTime(progress, rank, queue);
    if (!ready)
      return false;
    timeline[rank][index] = {*ready, *ready + duration({rank, index})};
    ++progress.done[queue];
    return true;
  }
  // All or none: everybody must be at the head of its queue and ready.
  double start = 0, longest = 0;
  const std::vector<Place> &places = meetings[meeting->second];
  for (Place place : places) {
    const Progress &other = ranks[place.rank];
    const uint32_t its = (*other.body)[place.index]->queue;
    if (other.done[its] == other.queues[its].size() ||
        other.queues[its][other.done[its]] != place.index)
      return false;
    const std::optional<double> ready = readyTime(other, place.rank, its);
    if (!ready)
      return false;
    timeline[place.rank][place.index].begin = *ready;
    start = std::max(start, *ready);
    longest = std::max(longest, duration(place));
  }
  for (Place place : places) {
    timeline[place.rank][place.index].end = start + longest;
    ++ranks[place.rank].done[(*ranks[place.rank].body)[place.index]->queue];
  }
  return true;
}

Timeline Replayer::run() {
  for (bool advanced = true; advanced;) {
    advanced = false;
    for (uint32_t rank = 0; rank < ranks.size(); ++rank)
      for (uint32_t queue = 0; queue < ranks[rank].queues.size(); ++queue)
        while (advance(rank, queue))
          advanced = true;
  }
  return std::move(timeline);
}

} // namespace

Timeline pp::run::replay(const ppx::ArtifactT &artifact, const Mesh &mesh,
                         const std::function<double(Place)> &duration) {
  return Replayer(artifact, mesh, duration).run();
}

double pp::run::idleShare(const ppx::ArtifactT &artifact,
                          const Timeline &timeline) {
  double begin = std::numeric_limits<double>::max(), end = 0, busy = 0;
  for (uint32_t rank = 0; rank < timeline.size(); ++rank) {
    const ppx::ProgramT &program = programOf(artifact, rank);
    for (size_t i = 0; i < program.body.size(); ++i) {
      const Span &span = timeline[rank][i];
      begin = std::min(begin, span.begin);
      end = std::max(end, span.end);
      const ppx::Opcode opcode = program.body[i]->opcode;
      if (opcode == ppx::Opcode_run || opcode == ppx::Opcode_gate)
        busy += span.end - span.begin;
    }
  }
  const double total = (end - begin) * double(timeline.size());
  // Sums in different orders: a full timeline may seem busier than it is long.
  return total > 0 ? std::max(0.0, 1 - busy / total) : 0;
}
