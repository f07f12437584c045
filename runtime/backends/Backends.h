//===- Backends.h - what the runtime's own backends have --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Backends.cpp makes of it what programs find by name; tests take a device
// alone.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_BACKENDS_H
#define PPRT_BACKENDS_BACKENDS_H

#include "pprt/Backend.h"

namespace pprt::cpu {

/// The processors of this machine. A stream is the thread that calls it and a
/// team beside it; memory is the host's own.
std::unique_ptr<PolledDevice> makeDevice(const DeviceOptions &options);

} // namespace pprt::cpu

namespace pprt::null {

/// Computes nothing; counts and checks what it is asked for.
std::unique_ptr<PolledDevice> makeDevice();

} // namespace pprt::null

#endif // PPRT_BACKENDS_BACKENDS_H
