//===- Plugins.h - libraries of this build, opened at run time --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A program that uses neither MPI nor GPUs needs neither installed: a library
// for each is opened on demand. This is the common code of such libraries:
// where they are, and whether one fits its program.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_PLUGINS_PLUGINS_H
#define PPRT_PLUGINS_PLUGINS_H

#include "pprt/Status.h"

namespace pprt::plugins {

/// Returns a digest of the sources that a program and its libraries must share:
/// their interfaces, and all that determines the messages.
const char *build();

/// A library to open, and the messages if that fails.
struct Wanted {
  const char *name;
  const char *build; ///< its function that returns build(), to be called first
  uint64_t bytes;    ///< least memory that it maps
  bool isGlobal;     ///< whether libraries that it opens need its symbols
  ExitCode code;
  const char *advice; ///< if there is none
  /// Needs of a library that cannot be opened; null: the same as no library.
  const char *needs;
};

/// Opens a library with dlopen(). `path`: its path; if empty it is beside the
/// program, in the lib folder beside its folder, beside the runtime, or where
/// the system looks.
Expected<void *> open(const Wanted &wanted, const std::string &path = "");

} // namespace pprt::plugins

#endif // PPRT_PLUGINS_PLUGINS_H
