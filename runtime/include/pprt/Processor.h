//===- Processor.h - what this machine is -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels are compiled for a level of the x86-64 psABI, such as x86-64-v3, and
// run on every processor of that level or a later one. Kernels for a GPU name
// its architecture, such as sm_90, and also run on those of the family with
// higher numbers.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_PROCESSOR_H
#define PPRT_PROCESSOR_H

#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

/// Identifies the machine: differs between any two machines, whatever their
/// names, and is the same in all containers of one.
std::string machineId();

/// Returns the highest level of this processor; empty on other architectures.
std::string processorLevel();

/// Returns all levels, from the lowest.
const std::vector<std::string> &processorLevels();
/// Returns whether it is one of them, and not a GPU architecture.
bool isProcessorLevel(const std::string &level);

/// Returns whether a processor or GPU with highest level `own` runs code that
/// needs `needed`. Code that needs none runs everywhere.
bool runsOn(const std::string &needed, const std::string &own);

/// Returns whether this processor has the level.
bool hasProcessorLevel(const std::string &level);

/// Returns the level of code that all these processors run; empty if there are
/// other architectures among them.
std::string lowestLevel(const std::vector<std::string> &levels);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_PROCESSOR_H
