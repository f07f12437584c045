//===- KernelSignature.h - what is said of a kernel's code ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a loops kernel in its module. Out: what an artifact says of its launch,
// the same wherever it is asked.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_KERNELSIGNATURE_H
#define PP_LIB_TARGET_KERNELSIGNATURE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pprt/Ppx.h"

namespace pp {

/// Blocks and threads, if the module's target is a GPU.
void setLaunch(mlir::func::FuncOp kernel, pprt::ppx::CompiledKernelT &body);

} // namespace pp

#endif // PP_LIB_TARGET_KERNELSIGNATURE_H
