//===- NullRun.h - a run in which nothing is computed -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_NULLRUN_H
#define PP_RUN_NULLRUN_H

#include "Options.h"
#include "pprt/Session.h"

#include <iosfwd>

namespace pp::run {

/// Runs all sections on the device "null", in all processes of the world, and
/// tells in process 0 what was counted and what it took. Fails (checkFailed) if
/// what was counted is not what the program says.
pprt::Status nullRun(const Options &options,
                     std::shared_ptr<const pprt::ppx::ArtifactT> artifact,
                     std::shared_ptr<pprt::World> world, std::ostream &out);

} // namespace pp::run

#endif // PP_RUN_NULLRUN_H
