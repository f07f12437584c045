//===- Replay.h - a step's timeline from durations --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Plays one body of every rank under the model of execution of pprt/Checks.h,
// each instruction taking the time it is given. With predicted durations this
// is the predicted timeline; with processor times it is the one that enough
// cores would show.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_REPLAY_H
#define PP_RUN_REPLAY_H

#include "Report.h"
#include "Trace.h"
#include "pprt/Session.h"

#include <functional>
#include <vector>

namespace pp::run {

struct Span {
  double begin = 0, end = 0;
};

/// By rank, then by instruction of the body.
using Timeline = std::vector<std::vector<Span>>;

/// An instruction of a rank's body.
struct Place {
  uint32_t rank = 0;
  size_t index = 0;
};

/// The instructions that meet: a send and its receive, the members of a
/// collective.
std::vector<std::vector<Place>>
findMeetings(const pprt::ppx::ArtifactT &artifact, const pprt::Mesh &mesh);

/// The artifact must have passed the checks: then the replay ends.
Timeline replay(const pprt::ppx::ArtifactT &artifact, const pprt::Mesh &mesh,
                const std::function<double(Place)> &duration);

/// Share of the time in which the compute queues are idle.
double idleShare(const pprt::ppx::ArtifactT &artifact,
                 const Timeline &timeline);

/// The program that `rank` runs.
const pprt::ppx::ProgramT &programOf(const pprt::ppx::ArtifactT &artifact,
                                     uint32_t rank);

} // namespace pp::run

#endif // PP_RUN_REPLAY_H
