//===- KernelObject.cpp - the compiled kernels inside an artifact ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The loader wants a file: an anonymous one in memory leaves nothing behind.
// The loader takes a path that it has loaded for the same object for ever,
// whatever file it names now; so each object needs a path of its own.
//
//===----------------------------------------------------------------------===//
#include "KernelObject.h"
#include "pprt/Files.h"
#include "pprt/Lack.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

using namespace pprt;

static std::string pathOf(int file) {
  return "/proc/self/fd/" + std::to_string(file);
}

static bool isLoaded(const std::string &path) {
  void *handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle)
    dlclose(handle);
  return handle != nullptr;
}

/// Moves the file to a descriptor whose path nothing was loaded from. Returns
/// false and sets errno if there is none left.
static bool makePathUnique(int &file) {
  while (isLoaded(pathOf(file))) {
    const int next = fcntl(file, F_DUPFD_CLOEXEC, file + 1);
    if (next < 0)
      return false;
    close(file);
    file = next;
  }
  return true;
}

Expected<KernelResolver>
pprt::loadKernelObject(const std::vector<uint8_t> &object) {
  int file = memfd_create("pprt-kernels", MFD_CLOEXEC);
  if (file < 0 || !writeAll(file, object.data(), object.size()) ||
      !makePathUnique(file)) {
    const std::string reason = std::strerror(errno);
    if (file >= 0)
      close(file);
    return Status(ExitCode::io, "kernel object expects " +
                                    std::to_string(object.size()) +
                                    " bytes of memory, got: " + reason);
  }
  void *handle = dlopen(pathOf(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  // While as few descriptors are free as there were.
  const Status status =
      handle ? Status()
             : findLack("kernel object", 2 * object.size(),
                        Status(ExitCode::badArtifact,
                               std::string("kernel object expects an ELF "
                                           "shared object for this machine, "
                                           "got: ") +
                                   dlerror()));
  close(file);
  if (!status.ok())
    return status;
  std::shared_ptr<void> library(handle, dlclose);
  return KernelResolver([library](const std::string &symbol) {
    return dlsym(library.get(), symbol.c_str());
  });
}
