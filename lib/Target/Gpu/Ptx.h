//===- Ptx.h - GPU kernels to PTX -------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: loops kernels of level 4 and an architecture. Out: a PTX module that any
// driver which knows the architecture compiles. On the way a kernel becomes a
// function of scalars, loads and stores that every thread of a launch runs
// (GpuKernel.cpp), and is linked with NVIDIA's libdevice from the CUDA toolkit
// of the build (which may be distributed with programs: Attachment A of the
// CUDA Toolkit's licence).
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_GPU_PTX_H
#define PP_LIB_TARGET_GPU_PTX_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace pp::gpu {

struct LaunchShape {
  int64_t grid = 1, block = 1; ///< blocks; threads per block
};

/// Known before anything is built. Reports a `pp.rows` that does not fit the
/// kernel.
mlir::FailureOr<LaunchShape> getLaunchShape(mlir::func::FuncOp kernel);

/// A line for readers of the PTX: the form, the ops, and the types of the
/// parameters, those that are overwritten first.
std::string describeGpuKernel(mlir::func::FuncOp kernel);

/// Builds a function called `name`, alone in its module. Its arguments are
/// pointers to global memory: one per parameter (KernelCompiler.h), the
/// launch's scalars, and the gate, an i32: unless the pointer is null or the
/// value 0, the kernel does nothing.
mlir::LogicalResult buildGpuKernel(mlir::OpBuilder &builder,
                                   mlir::func::FuncOp kernel,
                                   llvm::StringRef name);

/// Registers the dialects that kernels pass through, and the sharding models,
/// which tell rows apart.
void registerGpuDialects(mlir::DialectRegistry &registry);

/// A module with one entry, `symbol`, for a launch of getLaunchShape(). All
/// names in it begin with `symbol`. `processor` is LLVM's name, such as sm_90.
mlir::FailureOr<std::string> compileToPtx(mlir::func::FuncOp kernel,
                                          llvm::StringRef symbol,
                                          llvm::StringRef processor);

/// A module for each processor; everything but instruction selection is shared.
mlir::FailureOr<llvm::SmallVector<std::string>>
compileToPtx(mlir::func::FuncOp kernel, llvm::StringRef symbol,
             llvm::ArrayRef<llvm::StringRef> processors);

/// One module of several for the same processor.
std::string joinPtx(llvm::ArrayRef<llvm::StringRef> modules);

/// Everything but the kernel that PTX depends on: the versions of LLVM, of
/// libdevice and of this pipeline, and the processor.
std::string describePtx(llvm::StringRef processor);

/// LLVM bitcode of libdevice; empty if the build had no toolkit.
llvm::StringRef getLibdevice();

/// The file and version of CUDA that libdevice is from, and the start of its
/// digest.
llvm::StringRef getLibdeviceOrigin();

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_PTX_H
