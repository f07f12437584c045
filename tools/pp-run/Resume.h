//===- Resume.h - goes on from a checkpoint ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Steps, seed and place in the data come from the checkpoint, all else from the
// options.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_RESUME_H
#define PP_RUN_RESUME_H

#include "Options.h"
#include "pprt/World.h"
#include "pprt/host/Batches.h"
#include "pprt/host/Checkpoint.h"

#include <optional>
#include <string>

namespace pp::run {

struct Resumed {
  std::optional<pprt::host::Checkpoint> checkpoint;
  std::string metrics; ///< lines of the steps done, in process 0
};

/// Opens the checkpoint of --resume, if there is one. Collective.
pprt::Expected<Resumed> openCheckpoint(Options &options, pprt::World &world,
                                       const pprt::ppx::ArtifactT &artifact);

/// A run that goes on has the seed, and the place in the data, of its
/// checkpoint. Says what else differs.
pprt::Status adoptCheckpoint(Options &options, const pprt::World &world,
                             const pprt::host::Checkpoint &checkpoint,
                             const pprt::ppx::ArtifactT &artifact,
                             const pprt::host::Batches &batches);

} // namespace pp::run

#endif // PP_RUN_RESUME_H
