//===- StageRuns.h - runs and receives of each stage, in order --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Unrolls a schedule over the fragments of level 3, and finds where each stage
// receives the values that others send to it. The results of a run are sent
// right after it. They are received as late as possible: right before a run
// that reads them, or earlier if the stages would otherwise wait for one
// another in a circle.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_STAGERUNS_H
#define PP_LIB_TRANSFORMS_LOWER_STAGERUNS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"
#include <vector>

namespace pp {

/// A fragment, and the micro-batch that the schedule runs it for; -1 for none.
struct Run {
  FragmentOp fragment;
  int64_t microBatch;
};

/// A run by the stage and its place in the stage's list.
struct RunPlace {
  int64_t stage;
  size_t index;
};

/// The work of one stage in a step.
struct StageRuns {
  std::vector<Run> runs;
  /// For each run, and for the end of the list: the runs whose results are
  /// received before it, in order.
  std::vector<llvm::SmallVector<RunPlace, 2>> receives;
};

/// Values of the prologue and the update exist once a step (-1), all others
/// once per micro-batch; without micro-batches that is once, too.
int64_t instanceOf(FragmentOp fragment, int64_t microBatch);

/// Reports that `stage` has no `value` yet where `reader` wants it.
mlir::InFlightDiagnostic reportMissing(mlir::Operation *reader, int64_t stage,
                                       int64_t microBatch, mlir::Value value);

/// The lists of all stages; fails, with a message, if a stage waits forever for
/// a value of another.
mlir::FailureOr<std::vector<StageRuns>> listStageRuns(mlir::func::FuncOp main,
                                                      ScheduleAttr schedule);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_STAGERUNS_H
