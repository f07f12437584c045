//===- Build.cpp - which sources this was built from ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A program and the library that it opens for MPI have this file each, and the
// digest with it, which the build makes of what both must have alike.
//
//===----------------------------------------------------------------------===//
#include "Plugin.h"

const char *pprt::mpi::build() {
  return
#include "PluginSources.inc"
      ;
}
