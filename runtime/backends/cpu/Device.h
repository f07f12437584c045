//===- Device.h - processors as a device ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A stream is the thread that calls it and a team beside it: what is launched
// has been done when the call returns. Memory is the host's own.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_DEVICE_H
#define PPRT_BACKENDS_CPU_DEVICE_H

#include "../../engine/Device.h"
#include "pprt/Execution.h"

namespace pprt::cpu {

struct DeviceOptions {
  /// Finds compiled kernels; if empty they come from the artifact's object.
  KernelResolver resolver;
  unsigned threadsPerRank = 1;
  bool spin = false; ///< when no two threads share a core
};

std::unique_ptr<Device> makeDevice(const DeviceOptions &options);

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_DEVICE_H
