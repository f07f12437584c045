//===- Open.cpp - finds and opens the library that uses MPI ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Most programs never ask for MPI, so they neither link nor need it: dlopen()
// brings the library with MPI behind it, and its words are part of the error.
//
//===----------------------------------------------------------------------===//
#include "../../lib/Lack.h"
#include "../../plugins/Plugins.h"
#include "Plugin.h"
#include "pprt/Launcher.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

using namespace pprt;

static constexpr char kName[] = "libpprt_mpi.so";
/// That it maps, with MPI.
static constexpr uint64_t kLibraryBytes = 64 << 20;

/// What to do about a library that cannot be opened: it is nowhere, or what it
/// needs is not there.
static Status cannotOpen(const std::string &path, bool isFound) {
  const std::string reason = dlerror();
  if (isFound)
    return Status(ExitCode::usage,
                  "'" + path +
                      "' expects Open MPI (install libopenmpi-dev and "
                      "openmpi-bin), got: " +
                      reason);
  std::string places;
  for (const std::string &folder : plugins::folders())
    places += "'" + folder + "', ";
  return Status(ExitCode::usage,
                std::string("expects ") + kName + " in " + places +
                    "or where the system looks (install libopenmpi-dev and "
                    "openmpi-bin, then build with -DPP_MPI=ON), got: " +
                    reason);
}

Expected<std::unique_ptr<World>> pprt::openMpi(uint64_t silenceSeconds) {
  mpi::Limits limits;
  // Clocks end in some 290 years.
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
  std::string path = library;
  for (const std::string &folder : plugins::folders())
    if (const std::string file = folder + kName;
        path.empty() && access(file.c_str(), R_OK) == 0)
      path = file;
  const bool isFound = !path.empty();
  if (!isFound)
    path = kName;
  // Global, since the parts of Open MPI that it opens look for its symbols.
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle)
    return findLack(kName, kLibraryBytes, cannotOpen(path, isFound));
  auto *build =
      reinterpret_cast<BuildFunction *>(dlsym(handle, "pprtMpiBuild"));
  auto *open = reinterpret_cast<OpenFunction *>(dlsym(handle, "pprtOpenMpi"));
  if (!build || !open || std::strcmp(build(), plugins::build()) != 0)
    return Status(ExitCode::usage,
                  "'" + path +
                      "' expects a program of its own build, got another: "
                      "install both from one");
  Opened opened;
  open(limits, &opened);
  if (!opened.world)
    return opened.failure;
  return std::move(opened.world);
}
