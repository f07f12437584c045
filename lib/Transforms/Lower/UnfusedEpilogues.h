//===- UnfusedEpilogues.h - epilogues as a kernel ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Where a library may refuse a product with its epilogues when it is asked on
// the device, the product alone is what it computes, and a kernel behind it
// does what they do, where the product lies.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_UNFUSEDEPILOGUES_H
#define PP_LIB_TRANSFORMS_LOWER_UNFUSEDEPILOGUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pprt/Target.h"

namespace pp {

/// A loops kernel, in no module yet, of the epilogues of `kernel`, which
/// `contraction` says. Its parameters are pprt::unfusedParameters(). Null if no
/// single kernel does that in place.
mlir::func::FuncOp
formUnfusedEpilogues(mlir::func::FuncOp kernel,
                     const pprt::ppx::ContractionT &contraction,
                     const pprt::KernelTuning &tuning);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_UNFUSEDEPILOGUES_H
