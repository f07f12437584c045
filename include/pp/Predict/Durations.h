//===- Durations.h - how long instructions take -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an artifact, with the figures of a machine in its plan, and perhaps the
// trace of another run. Out: seconds of each instruction, for predictions. An
// action is all that a stage computes of one phase for a micro-batch, or once a
// step.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PREDICT_DURATIONS_H
#define PP_PREDICT_DURATIONS_H

#include "pp/Schedule/Topology.h"
#include "pprt/Mesh.h"
#include "pprt/Program.h"
#include "pprt/Status.h"

#include <map>
#include <optional>
#include <string>

namespace pp::predict {

/// Seconds of the actions of a run, such as the forward pass of stage 3.
class ActionSeconds {
public:
  /// Reads what `pp-run --trace` wrote. A step and micro-batch may be an
  /// exception: the median of all counts.
  static pprt::Expected<ActionSeconds> read(const std::string &path);

  /// By stage and letter of the phase, as in `3F`; nothing if the run had no
  /// such action.
  std::optional<double> find(const std::string &action) const;

private:
  friend class Durations;

  std::map<std::string, double> seconds;
  /// The file; what it says of the model (a digest) and the plan, or nothing.
  std::string path, model, plan;
};

class Durations {
public:
  /// As the rates and links of the plan say.
  Durations(const pprt::ppx::ArtifactT &artifact, const pprt::Mesh &mesh);
  /// Kernels take as long as `measured` says of their actions, of which each
  /// has the share that the plan's rates say; messages are not measured apart
  /// from waits. Fails if the run was of another model, or of other stages.
  static pprt::Expected<Durations> create(const pprt::ppx::ArtifactT &artifact,
                                          const pprt::Mesh &mesh,
                                          const ActionSeconds &measured);

  /// The two ends of a transfer, and all members of a collective, take as long
  /// as the slowest of them.
  double of(const pprt::Instruction &instruction) const;

  /// Whose the times of kernels are, as predictions say; empty: the plan's
  /// rates hold.
  const std::string &source() const { return name; }

  /// Of each action, by stage and letter of its phase as above: the kernels of
  /// one micro-batch, or of a step.
  std::map<std::string, double> sumActions() const;

private:
  const pprt::ppx::ArtifactT *artifact;
  const pprt::Mesh *mesh;
  schedule::Topology topology;
  std::string name;
  /// By action, what is measured over what the rates say; none: they hold.
  std::map<std::string, double> factors;
};

} // namespace pp::predict

#endif // PP_PREDICT_DURATIONS_H
