//===- GpuKernel.h - a kernel as what one GPU thread does -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a loops kernel of level 4. Out: a function of scalars, loads and stores
// that every thread of a launch runs, and how many threads that is.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_GPU_GPUKERNEL_H
#define PP_LIB_TARGET_GPU_GPUKERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pp::gpu {

struct LaunchShape {
  int64_t grid = 1, block = 1; ///< blocks; threads of one
};

/// Known before anything is built. Fails, and reports it, on a `pp.rows` that
/// does not fit the kernel.
mlir::FailureOr<LaunchShape> getLaunchShape(mlir::func::FuncOp kernel);

/// A line for who reads the PTX: the form, what it computes, and the types of
/// its parameters, those that are overwritten first.
std::string describeGpuKernel(mlir::func::FuncOp kernel);

/// Builds a function called `name`, alone in its module. Its arguments are
/// pointers to global memory: a parameter each (KernelCompiler.h), the launch's
/// scalars, and the gate: an i32 that, unless it is 0 or the pointer null,
/// keeps the kernel from doing anything.
mlir::LogicalResult buildGpuKernel(mlir::OpBuilder &builder,
                                   mlir::func::FuncOp kernel,
                                   llvm::StringRef name);

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_GPUKERNEL_H
