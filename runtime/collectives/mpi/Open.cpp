//===- Open.cpp - finds and opens the library that uses MPI ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Most programs never ask for MPI, so they neither link nor need it: dlopen()
// brings the library with MPI behind it, and its words are part of the error.
//
//===----------------------------------------------------------------------===//
#include "Plugin.h"

#include <climits>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

using namespace pprt;

static constexpr char kName[] = "libpprt_mpi.so";

static std::string folderOf(const std::string &file) {
  return file.substr(0, file.rfind('/') + 1);
}

/// Where the library may lie, with a slash.
static std::vector<std::string> folders() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  const std::string program =
      folderOf(std::string(path, length > 0 ? size_t(length) : 0));
  std::vector<std::string> result = {program, program + "../lib/"};
  Dl_info runtime; // libpprt.so, unless the program has it all
  if (dladdr(reinterpret_cast<void *>(&openMpi), &runtime) && runtime.dli_fname)
    result.push_back(folderOf(runtime.dli_fname));
  return result;
}

Expected<std::unique_ptr<World>> pprt::openMpi(uint64_t silenceSeconds) {
  mpi::Limits limits;
  limits.silenceSeconds = silenceSeconds;
  return mpi::openWorld("", &limits);
}

Expected<std::unique_ptr<World>> mpi::openWorld(const std::string &library,
                                                const Limits *limits) {
  std::string path = library;
  if (path.empty()) {
    path = kName;
    for (const std::string &folder : folders())
      if (const std::string file = folder + kName;
          access(file.c_str(), R_OK) == 0) {
        path = file;
        break;
      }
  }
  // Global, since the parts of Open MPI that it opens look for its symbols.
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle)
    return Status(ExitCode::usage,
                  std::string("expects Open MPI and ") + kName +
                      " (install libopenmpi-dev and openmpi-bin, then build "
                      "with -DPP_MPI=ON), got: " +
                      dlerror());
  auto *build =
      reinterpret_cast<BuildFunction *>(dlsym(handle, "pprtMpiBuild"));
  auto *open = reinterpret_cast<OpenFunction *>(dlsym(handle, "pprtOpenMpi"));
  if (!build || !open || std::strcmp(build(), mpi::build()) != 0)
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
