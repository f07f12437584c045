//===- DryRun.h - everything that is known before a run ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Nothing of the size of the model is allocated.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_DRYRUN_H
#define PP_RUN_DRYRUN_H

#include "Options.h"
#include "pprt/Ppx.h"

#include <ostream>

namespace pp::run {

/// `pp-run --dry-run`: tells what a step of a program will need, to `out`
/// unless told to be quiet, and to the files of --report, --trace and --code.
/// `checked` says whether the program may run, `staging` is stagingOf(); one
/// that exceeds the memory limit is shown before it is refused.
pprt::Status dryRun(const Options &options,
                    const pprt::ppx::ArtifactT &artifact,
                    const pprt::Status &checked, std::vector<uint64_t> staging,
                    double passesMs, std::ostream &out);

} // namespace pp::run

#endif // PP_RUN_DRYRUN_H
