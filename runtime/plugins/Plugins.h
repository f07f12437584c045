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

#include <string>
#include <vector>

namespace pprt::plugins {

/// Of the sources that a program and its libraries must have alike: their
/// interfaces, and all that decides which messages there are.
const char *build();

/// Where a library may lie, with a slash, each once: beside the program, in the
/// lib folder beside its folder, beside the runtime.
std::vector<std::string> folders();

} // namespace pprt::plugins

#endif // PPRT_PLUGINS_PLUGINS_H
