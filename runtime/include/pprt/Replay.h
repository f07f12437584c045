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

#include "pprt/Ranks.h"

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

/// A step of all ranks as a run measured it, in seconds from its begin.
struct MeasuredStep {
  Timeline timeline;
  /// Whether it is as it would have been with a core for each rank: replayed
  /// from the processor times of ranks that shared cores.
  bool isReplayed = false;
};

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

  uint32_t size() const { return uint32_t(firstRanks.size()); }
  const ppx::ProgramT &program(uint32_t player) const {
    return all.program(firstRanks[player]);
  }
  const InstructionList &body(uint32_t player) const {
    return all.instructions(firstRanks[player], Section::body);
  }
  /// Returns the number of ranks that a player represents.
  uint32_t weight(uint32_t player) const { return weights[player]; }
  /// Returns these ranks, in ascending order.
  std::vector<uint32_t> ranksOf(uint32_t player) const;
  Instruction instruction(Place place) const {
    return body(place.player)[place.index];
  }

  /// Returns the instructions that meet: a send and its receive, the members of
  /// a collective.
  std::vector<std::vector<Place>> findCommOps() const;

private:
  Players(const ppx::ArtifactT &artifact, const Mesh &mesh)
      : all(artifact, mesh) {}

  Ranks all;
  std::vector<uint32_t> weights, firstRanks;
  /// By rank.
  std::vector<uint32_t> playerOf;
};

/// Returns nothing if the replay does not end. It ends if the artifact has
/// passed the checks.
std::optional<Timeline> replay(const Players &players,
                               const std::function<double(Place)> &duration);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_REPLAY_H
