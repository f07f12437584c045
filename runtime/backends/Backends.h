//===- Backends.h - devices of the runtime's own backends -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Backends.cpp makes backends of these devices, which programs find by name;
// tests use a device alone.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_BACKENDS_H
#define PPRT_BACKENDS_BACKENDS_H

#include "pprt/Backend.h"

namespace pprt::cpu {

/// Makes the device of this machine's processors. A stream is its calling
/// thread with a team; memory is the host's own.
std::unique_ptr<PolledDevice> makeDevice(const DeviceOptions &options);

} // namespace pprt::cpu

namespace pprt::null {

/// Makes a device that computes nothing; it counts and checks its calls.
std::unique_ptr<PolledDevice> makeDevice();

} // namespace pprt::null

#endif // PPRT_BACKENDS_BACKENDS_H
