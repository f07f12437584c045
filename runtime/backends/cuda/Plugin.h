//===- Plugin.h - the library that is opened when a GPU is asked for ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// libpprt_cuda needs CUDA's headers to be built and NVIDIA's driver to run;
// programs that use no GPU need neither. It is opened at run time, and found
// where MPI's library is.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_PLUGIN_H
#define PPRT_BACKENDS_CUDA_PLUGIN_H

#include "../../engine/Device.h"

#include <memory>

namespace pprt::cuda {

struct OpenedDevice {
  std::unique_ptr<Device> device;
  std::string processor; ///< what its kernels may need (pprt/Processor.h)
  Status failure;        ///< if there is no device
};

/// The library's function `pprtOpenCuda`.
using OpenFunction = void(OpenedDevice *opened);
/// The library's function `pprtCudaBuild`, to be called first: mpi::build(),
/// which is of the sources of all libraries that are opened so.
using BuildFunction = const char *();

/// The GPU of this process, or what is missing (exit code 15).
Expected<OpenedDevice> openDevice();

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_PLUGIN_H
