//===- Replay.cpp - a step's timeline from durations ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pprt/Replay.h"
#include "pprt/RankClasses.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace pprt;

Players Players::ranks(const ppx::ArtifactT &artifact, const Mesh &mesh) {
  Players players(artifact, mesh);
  for (uint32_t rank = 0; rank < mesh.worldSize(); ++rank) {
    players.weights.push_back(1);
    players.firstRanks.push_back(rank);
    players.playerOf.push_back(rank);
  }
  return players;
}

Players Players::classes(const ppx::ArtifactT &artifact, const Mesh &mesh) {
  Players players(artifact, mesh);
  uint64_t operations = 0;
  const RankClasses classes = RankClasses::coarsest(players.all, operations);
  players.playerOf.resize(mesh.worldSize());
  for (const auto &program : artifact.programs)
    for (uint32_t rank : program->ranks)
      if (classes.speakerOf(rank) == rank) {
        players.playerOf[rank] = players.size();
        players.weights.push_back(0);
        players.firstRanks.push_back(rank);
      }
  for (uint32_t rank = 0; rank < mesh.worldSize(); ++rank) {
    players.playerOf[rank] = players.playerOf[classes.speakerOf(rank)];
    ++players.weights[players.playerOf[rank]];
  }
  return players;
}

std::vector<uint32_t> Players::ranksOf(uint32_t player) const {
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; rank < playerOf.size(); ++rank)
    if (playerOf[rank] == player)
      ranks.push_back(rank);
  return ranks;
}

std::vector<std::vector<Place>> Players::findCommOps() const {
  // A place is identified by the players at the edge's ends, or by the group
  // and its first player; a comm op also by its index among those of the place.
  using Ends = std::tuple<bool, uint32_t, uint32_t>;
  const CommOps body(all, Section::body);
  std::map<std::pair<Ends, size_t>, std::vector<Place>> commOps;
  for (uint32_t player = 0; player < size(); ++player) {
    const uint32_t rank = firstRanks[player];
    for (const CommPlace &place : body.places({rank, rank + 1})) {
      const std::vector<uint32_t> members = body.members(place);
      Ends ends = {false, place.first, player};
      if (place.isGroup)
        for (uint32_t member : members)
          std::get<2>(ends) = std::min(std::get<2>(ends), playerOf[member]);
      else
        ends = {true, playerOf[place.first], playerOf[place.second]};
      const uint32_t member = members[0] == rank ? 0 : 1;
      const std::vector<uint32_t> &indices = body.sequence(place, member, rank);
      for (size_t turn = 0; turn < indices.size(); ++turn)
        commOps[{ends, turn}].push_back({player, indices[turn]});
    }
  }
  std::vector<std::vector<Place>> result;
  for (auto &[key, places] : commOps)
    result.push_back(std::move(places));
  return result;
}

namespace {

/// Progress of each queue of a player.
struct Progress {
  /// By queue, its instructions, and how many of them are done.
  std::vector<std::vector<size_t>> queues;
  std::vector<size_t> done;
};

class Replayer {
public:
  Replayer(const Players &players,
           const std::function<double(Place)> &duration);

  std::optional<Timeline> run();

private:
  /// When the head of a queue can start; nothing if its waits do not hold.
  std::optional<double> readyTime(uint32_t player, uint32_t queue) const;
  bool advance(uint32_t player, uint32_t queue);
  bool meet(const std::vector<Place> &places);

  static constexpr size_t alone = size_t(-1);

  const Players &players;
  const std::function<double(Place)> &duration;
  std::vector<std::vector<Place>> commOps;
  /// By player and instruction.
  std::vector<std::vector<size_t>> commOpOf;
  std::vector<Progress> progress;
  Timeline timeline;
};

Replayer::Replayer(const Players &players,
                   const std::function<double(Place)> &duration)
    : players(players), duration(duration), commOps(players.findCommOps()) {
  for (uint32_t player = 0; player < players.size(); ++player) {
    const InstructionList &body = players.body(player);
    Progress start;
    start.queues.resize(players.program(player).queues.size());
    start.done.resize(start.queues.size());
    for (size_t i = 0; i < body.size(); ++i)
      start.queues[body[i]->queue].push_back(i);
    progress.push_back(std::move(start));
    timeline.emplace_back(body.size());
    commOpOf.emplace_back(body.size(), alone);
  }
  for (size_t m = 0; m < commOps.size(); ++m)
    for (Place place : commOps[m])
      commOpOf[place.player][place.index] = m;
}

std::optional<double> Replayer::readyTime(uint32_t player,
                                          uint32_t queue) const {
  const Progress &its = progress[player];
  const std::vector<Span> &spans = timeline[player];
  const size_t position = its.done[queue];
  double ready = position == 0 ? 0 : spans[its.queues[queue][position - 1]].end;
  bool holds = true;
  players.body(player).forEachWait(
      its.queues[queue][position], [&](uint32_t on, uint32_t count) {
        holds &= its.done[on] >= count;
        if (holds && count > 0)
          ready = std::max(ready, spans[its.queues[on][count - 1]].end);
      });
  return holds ? std::optional<double>(ready) : std::nullopt;
}

bool Replayer::advance(uint32_t player, uint32_t queue) {
  Progress &its = progress[player];
  if (its.done[queue] == its.queues[queue].size())
    return false;
  const size_t index = its.queues[queue][its.done[queue]];
  const size_t commOp = commOpOf[player][index];
  if (commOp != alone)
    return meet(commOps[commOp]);
  const std::optional<double> ready = readyTime(player, queue);
  if (!ready)
    return false;
  timeline[player][index] = {*ready, *ready + duration({player, index})};
  ++its.done[queue];
  return true;
}

/// Completes all or none: all must be at the head of their queues and ready.
bool Replayer::meet(const std::vector<Place> &places) {
  // A transfer without its other end, in an unchecked artifact.
  if (places.size() == 1 &&
      players.instruction(places.front())->opcode != ppx::Opcode_collective)
    return false;
  double start = 0, longest = 0;
  for (Place place : places) {
    const Progress &its = progress[place.player];
    const uint32_t queue = players.instruction(place)->queue;
    if (its.done[queue] == its.queues[queue].size() ||
        its.queues[queue][its.done[queue]] != place.index)
      return false;
    const std::optional<double> ready = readyTime(place.player, queue);
    if (!ready)
      return false;
    timeline[place.player][place.index].begin = *ready;
    start = std::max(start, *ready);
    longest = std::max(longest, duration(place));
  }
  for (Place place : places) {
    timeline[place.player][place.index].end = start + longest;
    ++progress[place.player].done[players.instruction(place)->queue];
  }
  return true;
}

std::optional<Timeline> Replayer::run() {
  for (bool advanced = true; advanced;) {
    advanced = false;
    for (uint32_t player = 0; player < players.size(); ++player)
      for (uint32_t queue = 0; queue < progress[player].queues.size(); ++queue)
        while (advance(player, queue))
          advanced = true;
  }
  for (const Progress &its : progress)
    for (size_t queue = 0; queue < its.queues.size(); ++queue)
      if (its.done[queue] != its.queues[queue].size())
        return std::nullopt;
  return std::move(timeline);
}

} // namespace

std::optional<Timeline>
pprt::replay(const Players &players,
             const std::function<double(Place)> &duration) {
  return Replayer(players, duration).run();
}
