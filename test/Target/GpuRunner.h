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

#include "KernelRunner.h"

namespace pp::testing {

/// Kernels are formed and compiled for it.
constexpr const char *kGpu = "sm_90";

/// Whether the build found what kernels of GPUs are made with.
bool hasGpuCompiler();

/// Is shown the PTX of each kernel that is run, whose entry is `kernel`.
using PtxObserver = llvm::function_ref<void(llvm::StringRef ptx)>;

/// Runs a loops kernel on a buffer for each parameter and the scalars of a
/// launch; `seed` orders the threads. False after a failure of the test.
bool runKernelOnGpu(mlir::func::FuncOp kernel,
                    llvm::ArrayRef<std::shared_ptr<Bytes>> buffers,
                    llvm::ArrayRef<int64_t> scalars, uint64_t seed,
                    PtxObserver observe = nullptr);

/// Runs `@main`, all of whose ops are launches; `seed` orders the threads.
/// Empty after a failure of the test.
std::vector<reference::HostTensor>
runOnGpu(mlir::ModuleOp module, llvm::ArrayRef<reference::HostTensor> inputs,
         uint64_t seed, PtxObserver observe = nullptr);

/// Runs `text` as PTX and in the interpreter, and compares.
void compareOnGpu(const std::string &text, double low, double high,
                  double tolerance, PtxObserver observe = nullptr);

} // namespace pp::testing

#endif // PP_TEST_TARGET_GPURUNNER_H
