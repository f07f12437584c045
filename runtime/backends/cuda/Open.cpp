//===- Open.cpp - finds and opens the library that uses GPUs --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "../../lib/Lack.h"
#include "../../plugins/Plugins.h"
#include "Plugin.h"
#include "pprt/World.h"

#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

using namespace pprt;

static constexpr char kName[] = "libpprt_cuda.so";
/// That it maps at least.
static constexpr uint64_t kLibraryBytes = 1 << 20;

namespace {

/// What the library exports.
struct Functions {
  cuda::OpenFunction *open;
  cuda::ProcessorFunction *processor;
};

} // namespace

static Expected<Functions> openLibrary() {
  std::string path, places;
  for (const std::string &folder : plugins::folders()) {
    places += "'" + folder + "', ";
    if (const std::string file = folder + kName;
        path.empty() && access(file.c_str(), R_OK) == 0)
      path = file;
  }
  if (path.empty())
    path = kName;
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return findLack(
        kName, kLibraryBytes,
        Status(ExitCode::device,
               std::string("expects ") + kName + " in " + places +
                   "or where the system looks (run "
                   "'scripts/install-dependencies --cuda', then build with "
                   "-DPP_CUDA=ON), got: " +
                   dlerror()));
  auto *build =
      reinterpret_cast<cuda::BuildFunction *>(dlsym(handle, "pprtCudaBuild"));
  const Functions functions = {
      reinterpret_cast<cuda::OpenFunction *>(dlsym(handle, "pprtOpenCuda")),
      reinterpret_cast<cuda::ProcessorFunction *>(
          dlsym(handle, "pprtCudaProcessor"))};
  if (!build || !functions.open || !functions.processor ||
      std::strcmp(build(), plugins::build()) != 0)
    return Status(ExitCode::device,
                  "'" + path +
                      "' expects a program of its own build, got another: "
                      "install both from one");
  return functions;
}

Expected<std::vector<std::unique_ptr<enqueued::StreamDevice>>>
cuda::openDevices(World &world, uint32_t worldSize) {
  const Expected<Functions> library = openLibrary();
  if (const Status first = world.agree(library.status(), false).first;
      !first.ok())
    return first;
  OpenedDevices opened;
  library->open(&world, worldSize, &opened);
  if (!opened.failure.ok())
    return opened.failure;
  return std::move(opened.devices);
}

static Expected<cuda::SeenProcessor> see() {
  const Expected<Functions> library = openLibrary();
  if (!library)
    return library.status();
  cuda::SeenProcessor seen;
  library->processor(&seen);
  if (!seen.failure.ok())
    return seen.failure;
  return seen;
}

Expected<std::string> cuda::processor() {
  const Expected<SeenProcessor> seen = see();
  return seen ? Expected(seen->name) : seen.status();
}

Expected<uint32_t> cuda::countDevices() {
  const Expected<SeenProcessor> seen = see();
  return seen ? Expected(seen->count) : seen.status();
}
