//===- Overwrites.h - what is read is not written over ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_OVERWRITES_H
#define PP_RUN_OVERWRITES_H

#include "Options.h"

namespace pp::run {

/// Fails (usage) if a file that a run writes is also one that it reads, or one
/// that it writes for another option. `planFile` is read, too; empty: none.
pprt::Status checkOverwrites(const Options &options,
                             const std::string &planFile);

} // namespace pp::run

#endif // PP_RUN_OVERWRITES_H
