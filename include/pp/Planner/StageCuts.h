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
/// expensive stage (FLOPs of its forward ops and of all that derives from them)
/// is as cheap as possible. Only boundaries that few bytes cross are considered
/// (at most twice the fewest), and among equally good cuts the earlier one
/// wins, so the choice is deterministic. Fails with a diagnostic when the model
/// has too few such boundaries: a stage would be empty.
mlir::FailureOr<llvm::SmallVector<int64_t>> chooseStageCuts(mlir::func::FuncOp main,
                                                            int64_t stages);

} // namespace pp

#endif // PP_PLANNER_STAGECUTS_H
