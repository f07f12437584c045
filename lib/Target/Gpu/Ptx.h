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

struct PtxKernel {
  LaunchShape launch;
  std::string ptx; ///< a module with one entry
};

/// What kernels become on the way.
void registerGpuDialects(mlir::DialectRegistry &registry);

/// `symbol`: the entry's name; `processor`: as LLVM names it, such as sm_90.
mlir::FailureOr<PtxKernel> compileToPtx(mlir::func::FuncOp kernel,
                                        llvm::StringRef symbol,
                                        llvm::StringRef processor);

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_PTX_H
