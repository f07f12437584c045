//===- Backends.h - what the runtime's own backends have --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Backends.cpp and Targets.cpp make of it what programs find by name; tests
// take a device alone.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_BACKENDS_H
#define PPRT_BACKENDS_BACKENDS_H

#include "pprt/Backend.h"

namespace pprt::cpu {

/// The processors of this machine. A stream is the thread that calls it and a
/// team beside it; memory is the host's own.
std::unique_ptr<PolledDevice> makeDevice(const DeviceOptions &options);

/// The levels of this machine's architecture, its own one first.
std::vector<std::unique_ptr<const Target>> makeTargets();

} // namespace pprt::cpu

namespace pprt::cuda {

/// NVIDIA's architectures; nothing here needs a GPU.
std::vector<std::unique_ptr<const Target>> makeTargets();

/// adviseTarget(), of architectures of NVIDIA's.
std::string adviseTarget(const std::string &name);

/// What a launch keeps in the GPU's memory: tables of addresses.
uint64_t launchBytes(const ppx::ContractionT &contraction);

} // namespace pprt::cuda

namespace pprt::null {

/// Computes nothing; counts and checks what it is asked for.
std::unique_ptr<PolledDevice> makeDevice();

} // namespace pprt::null

#endif // PPRT_BACKENDS_BACKENDS_H
