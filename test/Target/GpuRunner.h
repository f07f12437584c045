//===- GpuRunner.h - runs a function of launches as PTX ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Loops kernels become PTX, which this machine carries out instruction by
// instruction.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_TARGET_GPURUNNER_H
#define PP_TEST_TARGET_GPURUNNER_H

#include "mlir/IR/BuiltinOps.h"
#include "pp/Reference/HostTensor.h"

namespace pp::testing {

/// Whether the build found what kernels of GPUs are made with.
bool hasGpuCompiler();

/// Runs `@main`, all of whose ops are launches; `seed` orders the threads.
/// Empty after a failure of the test.
std::vector<reference::HostTensor>
runOnGpu(mlir::ModuleOp module, llvm::ArrayRef<reference::HostTensor> inputs,
         uint64_t seed);

} // namespace pp::testing

#endif // PP_TEST_TARGET_GPURUNNER_H
