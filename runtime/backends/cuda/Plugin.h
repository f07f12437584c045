//===- Plugin.h - the library that is opened for GPUs ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// libpprt_cuda needs CUDA's headers to be built and NVIDIA's driver to run;
// programs that use no GPU need neither. It is opened at run time, and found
// where MPI's library is.
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_PLUGIN_H
#define PPRT_BACKENDS_CUDA_PLUGIN_H

#include "pprt/StreamDevice.h"

#include <memory>

namespace pprt::cuda {

struct OpenedDevices {
  std::vector<std::unique_ptr<enqueued::StreamDevice>> devices;
  Status failure; ///< if there are none
};

struct SeenProcessor {
  std::string name;   ///< architecture that kernels may need (pprt/Processor.h)
  uint32_t count = 0; ///< GPUs that the process sees
  Status failure;     ///< if there is none
};

/// The library's function `pprtOpenCuda`. Collective; fails in all processes
/// alike.
using OpenFunction = void(World *world, uint32_t worldSize,
                          OpenedDevices *opened);
/// The library's function `pprtCudaProcessor`.
using ProcessorFunction = void(SeenProcessor *seen);

/// Opens the GPUs of this process: one for each of its ranks, or one that all
/// ranks of the run share; fails (exit code 15) with what is missing.
/// Collective, like the world's calls; fails in all processes alike.
Expected<std::vector<std::unique_ptr<enqueued::StreamDevice>>>
openDevices(World &world, uint32_t worldSize);
/// Returns the processor of the first GPU that this process sees. It need not
/// use it: a GPU may belong to another process alone.
Expected<std::string> processor();
/// Returns the number of GPUs that this process sees.
Expected<uint32_t> countDevices();

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_PLUGIN_H
