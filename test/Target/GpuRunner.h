//===- GpuRunner.h - runs kernels as PTX ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are formed and compiled for a GPU, run by test/gpu/ptx.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_TARGET_GPURUNNER_H
#define PP_TEST_TARGET_GPURUNNER_H

#include "KernelRunner.h"

namespace pp::testing {

/// Kernels are formed and compiled for it.
constexpr const char *kGpu = "sm_90";

class GpuRunner {
public:
  /// Threads take their turns in an order of `seed`.
  explicit GpuRunner(uint64_t seed) : seed(seed) {}

  /// Runs a loops kernel on a buffer for each parameter; false after a
  /// failure.
  bool run(mlir::func::FuncOp kernel,
           llvm::ArrayRef<std::shared_ptr<Bytes>> all);

private:
  uint64_t seed;
};

/// Runs `text` as PTX and in the interpreter, and compares.
void compareOnGpu(const std::string &text, double low, double high,
                  double tolerance);

} // namespace pp::testing

#endif // PP_TEST_TARGET_GPURUNNER_H
