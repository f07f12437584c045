//===- Host.h - what a library above the driver asks of it ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For emulated libraries of libraries that give work to streams: the emulated
// library of libcuda below, and what is said where a program or the emulated
// library is wrong.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUDA_HOST_H
#define PP_TEST_GPU_CUDA_HOST_H

#include "Guest.h"

namespace emulated {

/// libcuda's emulated library, or null: then there is nothing to work on.
const Host *host();
/// Says what no program may do, and ends the process unless a test takes it.
void fault(const std::string &what);
/// What this emulated library does not do, it says, and ends the process.
[[noreturn]] void notModelled(const std::string &what);

} // namespace emulated

#endif // PP_TEST_GPU_CUDA_HOST_H
