//===- Processor.h - what this machine is -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels are compiled for a level of the x86-64 psABI, such as x86-64-v3, and
// run on every processor of that level or a later one. Those for a GPU name its
// architecture, such as sm_90, and run on those of the family with higher
// numbers, too.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_PROCESSOR_H
#define PPRT_PROCESSOR_H

#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

/// What no two machines share, whatever they are called, and all containers of
/// one do.
std::string machineId();

/// The highest level of this processor; empty on other architectures.
std::string processorLevel();

/// All levels, from the lowest.
const std::vector<std::string> &processorLevels();
/// Whether it is one of them, and not of a GPU.
bool isProcessorLevel(const std::string &level);

/// Whether a processor, or GPU, whose highest level is `own` runs what needs
/// `needed`.
/// Whatever needs none runs everywhere.
bool runsOn(const std::string &needed, const std::string &own);

/// Whether this processor does.
bool hasProcessorLevel(const std::string &level);

/// What processors of all these levels run; empty if there are other
/// architectures among them.
std::string lowestLevel(const std::vector<std::string> &levels);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_PROCESSOR_H
