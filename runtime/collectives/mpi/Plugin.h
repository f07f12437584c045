//===- Plugin.h - the library that is opened when MPI is asked for *- C++ -*-=//
//
// SPDX-License-Identifier: Apache-2.0
//
// MPI is no dependency of programs that do not use it: libpprt_mpi is opened at
// run time, and brings libmpi with it.
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

/// As openMpi(), with other limits. `library`: its path, as plugins::open() has
/// it.
Expected<std::unique_ptr<World>> openWorld(const std::string &library = "",
                                           const Limits *limits = nullptr);

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_PLUGIN_H
