//===- FitMemory.h - the least recomputation that fits ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The planner of remat=auto. Stages are chosen one by one, since memory differs
// between them. What a choice needs is not estimated: the module is lowered
// with it, as far as places in memory.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_PIPELINE_FITMEMORY_H
#define PP_LIB_TRANSFORMS_PIPELINE_FITMEMORY_H

#include "ResidualGraph.h"

namespace pp {

/// Marks the ops whose results are kept, such that each rank needs at most the
/// plan's memory-limit and computes as little as possible again; reports how
/// far that may be from the least. Fails with the least that would do.
mlir::LogicalResult fitMemory(mlir::func::FuncOp main, PlanAttr plan,
                              ResidualMarks &marks, llvm::StringRef target);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_PIPELINE_FITMEMORY_H
