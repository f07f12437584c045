//===- StageCuts.h - where to cut a model into stages -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_STAGECUTS_H
#define PP_PLANNER_STAGECUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pp {

/// Origins at which stages 1 .. stages-1 begin, chosen so that the most
/// expensive stage is as cheap as possible: FLOPs of its forward ops and of all
/// that derives from them, plus `flopsPerByte` for every byte that crosses into
/// it (and back, as a gradient). Among equally good cuts the earlier one wins,
/// so the choice is deterministic. Every stage gets a forward op
/// that depends on an input; fails with a diagnostic when there are too few.
///
/// The default figure is a link of 1 GB/s between devices of 100 GFLOP/s.
mlir::FailureOr<llvm::SmallVector<int64_t>>
chooseStageCuts(mlir::func::FuncOp main, int64_t stages,
                double flopsPerByte = 100.0);

} // namespace pp

#endif // PP_PLANNER_STAGECUTS_H
