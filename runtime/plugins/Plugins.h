//===- Plugins.h - libraries of this build, opened at run time --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A program that uses neither MPI nor GPUs needs neither installed: a library
// for each is opened when it is asked for. Here is what all such libraries have
// in common: where they lie, and whether one fits its program.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_PLUGINS_PLUGINS_H
#define PPRT_PLUGINS_PLUGINS_H

#include "pprt/Status.h"

namespace pprt::plugins {

/// Of the sources that a program and its libraries must have alike: their
/// interfaces, and all that decides which messages there are.
const char *build();

/// What is opened, and what is said where that fails.
struct Wanted {
  const char *name;
  const char *build; ///< its function that returns build(), to be called first
  uint64_t bytes;    ///< that it maps at least
  bool isGlobal;     ///< whether what it opens looks for its symbols
  ExitCode code;
  const char *advice; ///< where there is none
  /// What one that cannot be opened lacks; null: that is as if there were none.
  const char *needs;
};

/// What dlopen() gave. `path`: of the library; if empty it lies beside the
/// program, in the lib folder beside its folder, beside the runtime, or where
/// the system looks.
Expected<void *> open(const Wanted &wanted, const std::string &path = "");

} // namespace pprt::plugins

#endif // PPRT_PLUGINS_PLUGINS_H
