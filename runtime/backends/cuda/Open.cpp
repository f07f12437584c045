//===- Open.cpp - finds and opens the library that uses GPUs --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "../../plugins/Plugins.h"
#include "Plugin.h"
#include "pprt/World.h"

#include <dlfcn.h>

using namespace pprt;

static constexpr plugins::Wanted kLibrary = {
    "libpprt_cuda.so",
    "pprtCudaBuild",
    1 << 20,
    /*isGlobal=*/false,
    ExitCode::device,
    "run 'scripts/install-dependencies --cuda', then build with -DPP_CUDA=ON",
    nullptr};

namespace {

/// Functions that the library exports.
struct Functions {
  cuda::OpenFunction *open;
  cuda::ProcessorFunction *processor;
};

} // namespace

static Expected<Functions> openLibrary() {
  const Expected<void *> handle = plugins::open(kLibrary);
  if (!handle)
    return handle.status();
  return Functions{
      reinterpret_cast<cuda::OpenFunction *>(dlsym(*handle, "pprtOpenCuda")),
      reinterpret_cast<cuda::ProcessorFunction *>(
          dlsym(*handle, "pprtCudaProcessor"))};
}

Expected<std::vector<std::unique_ptr<enqueued::StreamDevice>>>
cuda::openDevices(World &world, uint32_t worldSize) {
  const Expected<Functions> library = openLibrary();
  if (const Status first = world.agree(library.status()).first; !first.ok())
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
