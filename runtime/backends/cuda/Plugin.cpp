//===- Plugin.cpp - what others find in this shared library ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Plugin.h"
#include "../../collectives/mpi/Plugin.h"
#include "Gpu.h"

using namespace pprt;

extern "C" __attribute__((visibility("default"))) const char *pprtCudaBuild() {
  return mpi::build();
}

extern "C" __attribute__((visibility("default"))) void
pprtOpenCuda(cuda::OpenedDevice *opened) {
  Expected<cuda::Driver> driver = cuda::openDriver();
  if (!driver) {
    opened->failure = driver.status();
    return;
  }
  Expected<std::shared_ptr<cuda::Gpu>> gpu =
      cuda::Gpu::open(std::move(*driver));
  opened->failure = gpu.status();
  if (!gpu)
    return;
  opened->processor = (*gpu)->processor();
  opened->device = cuda::makeDevice(std::move(*gpu));
}
