//===- Targets.h - the targets of each kind of device -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: nothing of a device but what is known without one. Out: what Targets.cpp
// lists.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_TARGETS_H
#define PPRT_BACKENDS_TARGETS_H

#include "pprt/Target.h"

namespace pprt::cpu {
/// The levels of this machine's architecture, its own one first.
std::vector<std::unique_ptr<const Target>> makeTargets();
} // namespace pprt::cpu

namespace pprt::cuda {
/// NVIDIA's architectures.
std::vector<std::unique_ptr<const Target>> makeTargets();
} // namespace pprt::cuda

#endif // PPRT_BACKENDS_TARGETS_H
