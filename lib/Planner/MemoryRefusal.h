//===- MemoryRefusal.h - what a memory limit would have to be ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The error of a planner that found nothing within a memory limit: who needs
// too much, and the least limit that would do. Assumes that the peaks are those
// of lowered programs, one of each position.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_MEMORYREFUSAL_H
#define PP_LIB_PLANNER_MEMORYREFUSAL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"

namespace pp {

/// Reports at `main`, with the exit code of too little memory, that `limit`
/// bytes are met by no `choice`: which of the positions' `peaks` in the leanest
/// that was tried exceed it. `advice` is what to do beside raising the limit
/// and splitting more.
mlir::InFlightDiagnostic refuseLimit(mlir::func::FuncOp main, int64_t limit,
                                     llvm::StringRef choice,
                                     llvm::ArrayRef<int64_t> peaks,
                                     llvm::StringRef advice = "");

} // namespace pp

#endif // PP_LIB_PLANNER_MEMORYREFUSAL_H
