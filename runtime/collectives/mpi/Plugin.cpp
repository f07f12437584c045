//===- Plugin.cpp - entry points of this shared library -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Plugin.h"
#include "../../plugins/Plugins.h"
#include "World.h"

using namespace pprt;

extern "C" __attribute__((visibility("default"))) const char *pprtMpiBuild() {
  return plugins::build();
}

extern "C" __attribute__((visibility("default"))) void
pprtOpenMpi(const mpi::Limits *limits, mpi::Opened *opened) {
  Expected<std::unique_ptr<World>> world =
      mpi::MpiWorld::create(limits ? *limits : mpi::Limits());
  if (world)
    opened->world = std::move(*world);
  else
    opened->failure = world.status();
}
