//===- Supervisor.h - starts a job, and starts it again ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: options with --restart, or with a --launcher that is a command. Out: the
// job of these options in a process of its own, which is started again when it
// ends in a way that another start may cure. Assumed: this process has one
// thread and has started no run; the job saves whole checkpoints or none.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_SUPERVISOR_H
#define PP_RUN_SUPERVISOR_H

#include "Options.h"

namespace pp::run {

/// Whether the options are of a job that this process starts.
inline bool isSupervised(const Options &options) {
  return !options.launcherCommand.empty() || options.restarts > 0;
}

/// Runs the job of a command line. The code is that of its last start; the
/// message says why there is no other one, and is empty if the job has ended
/// for good. Does not return if there is nothing to supervise.
pprt::Status supervise(const Options &options, int argc,
                       const char *const *argv);

} // namespace pp::run

#endif // PP_RUN_SUPERVISOR_H
