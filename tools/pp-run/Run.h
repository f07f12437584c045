//===- Run.h - what pp-run does ---------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: options that were checked, each for itself. Out: files and what the
// screen shows.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_RUN_H
#define PP_RUN_RUN_H

#include "Options.h"

namespace pp::run {

/// Everything the options ask for. The message of a failure is complete; it is
/// empty if another process tells.
pprt::Status run(const Options &options);

/// Prints why the program ends.
void printError(const pprt::Status &failure);

} // namespace pp::run

#endif // PP_RUN_RUN_H
