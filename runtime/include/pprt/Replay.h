//===- Replay.h - a step's timeline from durations --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Plays one body of some ranks under the model of execution of pprt/Checks.h,
// with a given time for each instruction. Predicted durations give the
// predicted timeline; processor times give the timeline that enough cores would
// show.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_REPLAY_H
#define PPRT_REPLAY_H

#include "pprt/Mesh.h"
#include "pprt/Ppx.h"

#include <functional>
#include <optional>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

struct Span {
  double begin = 0, end = 0;
};

/// By player, then by instruction of the body.
using Timeline = std::vector<std::vector<Span>>;

/// An instruction of a player's body.
struct Place {
  uint32_t player = 0;
  size_t index = 0;
};

/// The ranks whose bodies are played.
class Players {
public:
  /// Every rank; a player's number is its rank.
  static Players ranks(const ppx::ArtifactT &artifact, const Mesh &mesh);
  /// One rank of each class (pprt/RankClasses.h), in the order of programs,
  /// plays for the whole class: where durations depend on the program alone,
  /// all of its ranks do the same at the same time.
  static Players classes(const ppx::ArtifactT &artifact, const Mesh &mesh);

  uint32_t size() const { return uint32_t(bodies.size()); }
  const ppx::ProgramT &program(uint32_t player) const {
    return *bodies[player];
  }
  /// Returns the number of ranks that a player represents.
  uint32_t weight(uint32_t player) const { return weights[player]; }
  const ppx::InstructionT &instruction(Place place) const {
    return *bodies[place.player]->body[place.index];
  }

  /// Returns the instructions that meet: a send and its receive, the members of
  /// a collective.
  std::vector<std::vector<Place>> findCommOps() const;

private:
  Players(const ppx::ArtifactT &artifact, const Mesh &mesh)
      : artifact(artifact), mesh(mesh) {}

  const ppx::ArtifactT &artifact;
  const Mesh &mesh;
  std::vector<const ppx::ProgramT *> bodies;
  std::vector<uint32_t> weights, firstRanks;
  /// By rank.
  std::vector<uint32_t> playerOf;
};

/// Returns nothing if the replay does not end. It ends if the artifact has
/// passed the checks.
std::optional<Timeline> replay(const Players &players,
                               const std::function<double(Place)> &duration);

/// Returns the share of time in which the compute queues are idle.
double idleShare(const Players &players, const Timeline &timeline);

/// Seconds in which messages of a rank travel: from the moment all members are
/// there to the end. They are hidden while the rank computes, else exposed.
struct TravelTime {
  double exposed = 0, hidden = 0;
};

/// Returns the mean over all ranks.
TravelTime travelTime(const Players &players, const Timeline &timeline);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_REPLAY_H
