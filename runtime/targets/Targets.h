//===- Targets.h - what a compiler may ask about ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The rules of the runtime's own targets (pprt/Target.h). They are descriptions
// and link no library, so that what is compiled does not depend on the machine
// that compiles it. Devices of backends/ run what they allow.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_TARGETS_TARGETS_H
#define PPRT_TARGETS_TARGETS_H

#include "pprt/Target.h"

namespace pprt::cpu {

/// The levels of this machine's architecture, its own one first.
std::vector<std::unique_ptr<const Target>> makeTargets();

/// What processors can compute at all. Fails (badArtifact).
Status verifyContraction(const ppx::ContractionT &contraction);

} // namespace pprt::cpu

namespace pprt::cuda {

/// NVIDIA's architectures; nothing here needs a GPU.
std::vector<std::unique_ptr<const Target>> makeTargets();

/// adviseTarget(), of architectures of NVIDIA's.
std::string adviseTarget(const std::string &name);

/// What a launch keeps in the GPU's memory: tables of addresses.
uint64_t launchBytes(const ppx::ContractionT &contraction);

} // namespace pprt::cuda

#endif // PPRT_TARGETS_TARGETS_H
