//===- Hazards.h - arguments that are overwritten too early -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A result may overwrite an argument (`pp.inplace`). Threads run in any order:
// each may read of that argument only the element that it overwrites itself, or
// what all have read before anybody stores.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_GPU_HAZARDS_H
#define PP_LIB_TARGET_GPU_HAZARDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pp::gpu {

/// Reports an argument that another thread may have overwritten when it is read.
/// `isReadBefore` says of which values all lanes have what they need before the
/// first store; `areTogether` of which results the elements at one place in
/// memory are computed by one thread, before it stores any of them.
mlir::LogicalResult
verifyInPlace(mlir::func::FuncOp kernel,
              llvm::function_ref<bool(mlir::Value)> isReadBefore,
              llvm::function_ref<bool(unsigned, unsigned)> areTogether);

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_HAZARDS_H
