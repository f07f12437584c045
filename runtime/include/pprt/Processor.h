//===- Processor.h - what compiled kernels need -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels are compiled for a level of the x86-64 psABI, such as x86-64-v3, and
// run on every processor of that level or a later one.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_PROCESSOR_H
#define PPRT_PROCESSOR_H

#include <string>

#pragma GCC visibility push(default)
namespace pprt {

/// The highest level of this processor; empty on other architectures.
std::string processorLevel();

/// Whether this processor has a level. It has the empty one.
bool hasProcessorLevel(const std::string &level);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_PROCESSOR_H
