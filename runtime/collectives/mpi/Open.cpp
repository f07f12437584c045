//===- Open.cpp - finds and opens the library that uses MPI ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Most programs never use MPI, so they neither link nor need it: dlopen() loads
// the library with MPI behind it, and its message is part of the error.
//
//===----------------------------------------------------------------------===//
#include "../../plugins/Plugins.h"
#include "Plugin.h"
#include "pprt/Launcher.h"

#include <algorithm>
#include <dlfcn.h>

using namespace pprt;

/// Global because the parts of Open MPI that it opens look for its symbols.
static constexpr plugins::Wanted kLibrary = {
    "libpprt_mpi.so",
    "pprtMpiBuild",
    64 << 20, // with MPI
    /*isGlobal=*/true,
    ExitCode::usage,
    "install libopenmpi-dev and openmpi-bin, then build with -DPP_MPI=ON",
    "Open MPI (install libopenmpi-dev and openmpi-bin)"};

Expected<std::unique_ptr<World>> pprt::openMpi(uint64_t silenceSeconds) {
  mpi::Limits limits;
  // Limited because clocks overflow after some 290 years.
  limits.silenceSeconds = std::min<uint64_t>(silenceSeconds, 1'000'000'000);
  const std::optional<Launched> launched = findLauncher(); // MPI sets variables
  Expected<std::unique_ptr<World>> opened = mpi::openWorld("", &limits);
  if (opened)
    if (Status status = checkLaunched(launched, (*opened)->processCount());
        !status.ok())
      return status;
  return opened;
}

Expected<std::unique_ptr<World>> mpi::openWorld(const std::string &library,
                                                const Limits *limits) {
  const Expected<void *> handle = plugins::open(kLibrary, library);
  if (!handle)
    return handle.status();
  auto *open = reinterpret_cast<OpenFunction *>(dlsym(*handle, "pprtOpenMpi"));
  Opened opened;
  open(limits, &opened);
  if (!opened.world)
    return opened.failure;
  return std::move(opened.world);
}
