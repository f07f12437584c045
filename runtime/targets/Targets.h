//===- Targets.h - what a compiler may ask about ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The rules of the runtime's own targets (pprt/Target.h). They are descriptions
// and link no library, so that compiled code does not depend on the machine
// that compiles. Devices of backends/ run everything that the rules allow.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_TARGETS_TARGETS_H
#define PPRT_TARGETS_TARGETS_H

#include "pprt/Target.h"

namespace pprt::cpu {

/// Makes targets for this machine's architecture, its own level first.
std::vector<std::unique_ptr<const Target>> makeTargets();

/// Fails (badArtifact) if no processor can compute the contraction.
Status verifyContraction(const ppx::ContractionT &contraction);

} // namespace pprt::cpu

namespace pprt::cuda {

/// Makes targets for NVIDIA's architectures; nothing here needs a GPU.
std::vector<std::unique_ptr<const Target>> makeTargets();

/// adviseTarget() for NVIDIA's architectures.
std::string adviseTarget(const std::string &name);

/// Bytes of GPU memory that a launch keeps: tables of addresses.
uint64_t launchBytes(const ppx::ContractionT &contraction);

} // namespace pprt::cuda

#endif // PPRT_TARGETS_TARGETS_H
