//===- PositionRuns.h - runs and receives of positions ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Unrolls a schedule over the fragments of level 3, and finds where each
// position receives the values that others send to it. The results of a run are
// sent right after it. They are received as late as possible: right before a
// run that reads them, or earlier if the positions would otherwise wait for one
// another, in a circle or because the sender goes on sooner than the reader.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_POSITIONRUNS_H
#define PP_LIB_TRANSFORMS_LOWER_POSITIONRUNS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"
#include <vector>

namespace pp {

/// A fragment, and the micro-batch that the schedule runs it for; -1 for none.
struct Run {
  FragmentOp fragment;
  int64_t microBatch;
};

/// A run by the position and its place in the position's list.
struct RunPlace {
  int64_t position;
  size_t index;
};

/// The work of one position in a step.
struct PositionRuns {
  std::vector<Run> runs;
  /// When each begins if no position waits for memory, in units of a forward
  /// action.
  std::vector<double> starts;
  /// For each run, and for the end of the list: the runs whose results are
  /// received before it, in order.
  std::vector<llvm::SmallVector<RunPlace, 2>> receives;
};

/// Values of the prologue and the update exist once a step (-1), all others
/// once per micro-batch; without micro-batches that is once, too.
int64_t instanceOf(FragmentOp fragment, int64_t microBatch);

/// Reports that `position` has no `value` yet where `reader` wants it.
mlir::InFlightDiagnostic reportMissing(mlir::Operation *reader,
                                       int64_t position, int64_t microBatch,
                                       mlir::Value value);

/// The lists of all positions; fails, with a message, if a position waits
/// forever for a value of another.
mlir::FailureOr<std::vector<PositionRuns>>
listPositionRuns(mlir::func::FuncOp main, ScheduleAttr schedule);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_POSITIONRUNS_H
