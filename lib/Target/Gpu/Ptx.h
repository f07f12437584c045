//===- Ptx.h - GPU kernels to PTX -------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: loops kernels of level 4 and an architecture. Out: one PTX module that
// any driver which knows the architecture compiles.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_GPU_PTX_H
#define PP_LIB_TARGET_GPU_PTX_H

#include "GpuKernel.h"
#include <string>

namespace pp::gpu {

/// What kernels become on the way, and the sharding models, which tell rows
/// apart.
void registerGpuDialects(mlir::DialectRegistry &registry);

/// A module with one entry, `symbol`, for a launch of getLaunchShape(). All
/// names in it begin so. `processor`: as LLVM names it, such as sm_90.
mlir::FailureOr<std::string> compileToPtx(mlir::func::FuncOp kernel,
                                          llvm::StringRef symbol,
                                          llvm::StringRef processor);
/// One for each processor; all but the choice of instructions is done once.
mlir::FailureOr<llvm::SmallVector<std::string>>
compileToPtx(mlir::func::FuncOp kernel, llvm::StringRef symbol,
             llvm::ArrayRef<llvm::StringRef> processors);

/// One module of several for the same processor.
std::string joinPtx(llvm::ArrayRef<llvm::StringRef> modules);

/// What PTX depends on besides the kernel: the versions of LLVM, of libdevice
/// and of this pipeline, and the processor.
std::string describePtx(llvm::StringRef processor);

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_PTX_H
