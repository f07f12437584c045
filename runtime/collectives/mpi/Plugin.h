//===- Plugin.h - the library that is opened for MPI ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Programs that do not use MPI do not depend on it: libpprt_mpi is opened at
// run time, and loads libmpi.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_PLUGIN_H
#define PPRT_COLLECTIVES_MPI_PLUGIN_H

#include "Lanes.h"
#include "pprt/World.h"

namespace pprt::mpi {

struct Opened {
  std::unique_ptr<World> world;
  Status failure; ///< if there is no world
};

/// The library's function `pprtOpenMpi`. Null limits: the usual ones.
using OpenFunction = void(const Limits *limits, Opened *opened);

/// Like openMpi(), with other limits. `library`: its path, as in
/// plugins::open().
Expected<std::unique_ptr<World>> openWorld(const std::string &library = "",
                                           const Limits *limits = nullptr);

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_PLUGIN_H
