//===- ResidualSearch.h - the least recomputation that fits -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The planner of remat=auto. Stages are chosen one by one, since memory differs
// between them. What a choice needs is not estimated: the caller lowers the
// module with it, as far as places in memory.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_RESIDUALSEARCH_H
#define PP_PLANNER_RESIDUALSEARCH_H

#include "pp/Planner/ResidualGraph.h"

namespace pp {

/// What a stage keeps, and what that costs.
struct StageResiduals {
  FragmentOp forward;
  llvm::SmallVector<mlir::Operation *> kept;
  double work = 0; ///< FLOPs that are computed again
  /// No choice that keeps as few bytes has less work; if known.
  std::optional<double> leastWork = {};
  int64_t peak = 0; ///< bytes of a rank
};

/// Returns the bytes that a rank of each stage needs, by stage, if the results
/// of `kept` are kept; reports a failure.
using MeasureResiduals =
    llvm::function_ref<mlir::FailureOr<llvm::SmallVector<int64_t>>(
        llvm::ArrayRef<mlir::Operation *> kept)>;

/// For each stage the choice that needs at most `limit` bytes and computes as
/// little as possible again. Fails with the least that was found.
mlir::FailureOr<std::vector<StageResiduals>>
searchResiduals(mlir::func::FuncOp main, int64_t limit, ResidualMarks &marks,
                MeasureResiduals measure);

} // namespace pp

#endif // PP_PLANNER_RESIDUALSEARCH_H
