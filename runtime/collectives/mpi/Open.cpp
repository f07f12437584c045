//===- Open.cpp - finds and opens the library that uses MPI ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Most programs never ask for MPI, so they neither link nor need it: dlopen()
// brings the library with MPI behind it, and its words are part of the error.
//
//===----------------------------------------------------------------------===//
#include "Plugin.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

using namespace pprt;

static constexpr char kName[] = "libpprt_mpi.so";

static std::string folderOf(const std::string &file) {
  return file.substr(0, file.rfind('/') + 1);
}

/// Where the library may lie, with a slash, each once: beside the program, in
/// the lib folder beside its folder, beside the runtime.
std::vector<std::string> mpi::pluginFolders() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  const std::string program =
      folderOf(std::string(path, length > 0 ? size_t(length) : 0));
  std::vector<std::string> result;
  const auto add = [&](const std::string &folder) {
    if (!folder.empty() &&
        std::find(result.begin(), result.end(), folder) == result.end())
      result.push_back(folder);
  };
  add(program);
  if (program.size() > 1) {
    const std::string above =
        folderOf(program.substr(0, program.size() - 1)); // it ends in a slash
    add(above + "lib/");
    if (PPRT_LIBRARY_FOLDER[0] != '/') // as lib64
      add(above + PPRT_LIBRARY_FOLDER + "/");
  }
  Dl_info runtime; // libpprt.so, unless the program has it all
  if (dladdr(reinterpret_cast<void *>(&openMpi), &runtime) && runtime.dli_fname)
    add(folderOf(runtime.dli_fname));
  return result;
}

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
  for (const std::string &folder : mpi::pluginFolders())
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
  return mpi::openWorld("", &limits);
}

Expected<std::unique_ptr<World>> mpi::openWorld(const std::string &library,
                                                const Limits *limits) {
  std::string path = library;
  for (const std::string &folder : pluginFolders())
    if (const std::string file = folder + kName;
        path.empty() && access(file.c_str(), R_OK) == 0)
      path = file;
  const bool isFound = !path.empty();
  if (!isFound)
    path = kName;
  // Global, since the parts of Open MPI that it opens look for its symbols.
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle)
    return cannotOpen(path, isFound);
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
