//===- CriticalPath.cpp - what a step's time is spent on ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Walks back from the last instruction to end: an instruction starts when the
// last of those ends that it waits for, which are the one before it in its
// queue and those of its waits; a message starts when its last member is there.
//
//===----------------------------------------------------------------------===//
#include "CriticalPath.h"
#include "pprt/Program.h"

#include <algorithm>
#include <map>

using namespace pp::predict;
using namespace pprt;

namespace {

class Walk {
public:
  Walk(const Players &players, const Timeline &timeline)
      : players(players), timeline(timeline) {
    for (uint32_t player = 0; player < players.size(); ++player) {
      const InstructionList &body = players.body(player);
      queues.emplace_back(players.program(player).queues.size());
      positions.emplace_back();
      for (size_t i = 0; i < body.size(); ++i) {
        std::vector<size_t> &queue = queues.back()[body[i]->queue];
        positions.back().push_back(queue.size());
        queue.push_back(i);
      }
      lastMembers.emplace_back();
    }
    for (const std::vector<Place> &commOp : players.findCommOps()) {
      const Place last = *std::max_element(
          commOp.begin(), commOp.end(),
          [&](Place a, Place b) { return spanOf(a).begin < spanOf(b).begin; });
      for (Place place : commOp)
        lastMembers[place.player][place.index] = last;
    }
  }

  std::vector<PathPart> run() const {
    std::vector<PathPart> parts;
    std::optional<Place> at = findEnd();
    while (at) {
      const double end = spanOf(*at).end;
      const auto &members = lastMembers[at->player];
      if (const auto found = members.find(at->index); found != members.end())
        at = found->second;
      add(parts, *players.instruction(*at), end - spanOf(*at).begin);
      at = findCause(*at);
    }
    return parts;
  }

private:
  const Span &spanOf(Place place) const {
    return timeline[place.player][place.index];
  }

  std::optional<Place> findEnd() const {
    std::optional<Place> last;
    for (uint32_t player = 0; player < players.size(); ++player)
      for (size_t i = 0; i < timeline[player].size(); ++i)
        if (!last || timeline[player][i].end > spanOf(*last).end)
          last = Place{player, i};
    return last;
  }

  /// What it waited for last.
  std::optional<Place> findCause(Place place) const {
    std::optional<Place> cause;
    const auto offer = [&](size_t index) {
      const Place other = {place.player, index};
      if (!cause || spanOf(other).end > spanOf(*cause).end)
        cause = other;
    };
    const size_t position = positions[place.player][place.index];
    if (position > 0)
      offer(queues[place.player][players.instruction(place)->queue]
                  [position - 1]);
    players.body(place.player)
        .forEachWait(place.index, [&](uint32_t queue, uint32_t count) {
          if (count > 0)
            offer(queues[place.player][queue][count - 1]);
        });
    return cause;
  }

  static std::string kindOf(const ppx::InstructionT &instruction) {
    switch (instruction.opcode) {
    case ppx::Opcode_run:
    case ppx::Opcode_gate:
      return std::string(1, phaseLetter(instruction.phase));
    case ppx::Opcode_send:
    case ppx::Opcode_recv:
      return "transfers";
    case ppx::Opcode_collective:
      return "collectives";
    default:
      return "host";
    }
  }

  static void add(std::vector<PathPart> &parts,
                  const ppx::InstructionT &instruction, double seconds) {
    PathPart part = {std::nullopt, kindOf(instruction), seconds};
    if (part.kind.size() == 1)
      part.stage = instruction.stage;
    const auto found =
        std::find_if(parts.begin(), parts.end(), [&](const PathPart &its) {
          return its.stage == part.stage && its.kind == part.kind;
        });
    if (found != parts.end())
      found->seconds += seconds;
    else if (seconds > 0)
      parts.push_back(std::move(part));
  }

  const Players &players;
  const Timeline &timeline;
  /// By player and queue, its instructions; by player and instruction, its
  /// place in its queue, and for messages the member that came last.
  std::vector<std::vector<std::vector<size_t>>> queues;
  std::vector<std::vector<size_t>> positions;
  std::vector<std::map<size_t, Place>> lastMembers;
};

} // namespace

std::vector<PathPart> pp::predict::findCriticalPath(const Players &players,
                                                    const Timeline &timeline) {
  std::vector<PathPart> path = Walk(players, timeline).run();
  std::stable_sort(path.begin(), path.end(),
                   [](const PathPart &a, const PathPart &b) {
                     return a.seconds > b.seconds;
                   });
  return path;
}
