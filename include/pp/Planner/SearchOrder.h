//===- SearchOrder.h - the order behind schedule=auto -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a differentiated level 1 function and a plan. Out: the order of actions,
// the number of stages, their cuts and places with the shortest step that is
// known, within the plan's `memory-limit`. ScheduleSearch.h searches in
// numbers; here, stages are cut and measured for each way to lay them out, and
// whoever can lower the module says what orders really take.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_SEARCHORDER_H
#define PP_PLANNER_SEARCHORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"
#include "pp/Planner/ScheduleSearch.h"
#include <map>
#include <string>

namespace pp {

/// What a module needs that is lowered in an order.
struct LoweredOrder {
  /// Predicted.
  double stepSeconds = 0;
  /// By stage and letter of the action, as in `3F`, of one micro-batch.
  std::map<std::string, double> actionSeconds;
  /// Of a rank of each position; with remat=auto, the fewest.
  llvm::SmallVector<int64_t> peakBytes;
};

/// Lowers a copy of the module whose stages begin at 0 and at `cuts`.
using LowerOrder = llvm::function_ref<mlir::FailureOr<LoweredOrder>(
    const schedule::Schedule &, llvm::ArrayRef<int64_t> cuts)>;

struct ChosenOrder {
  /// Called "auto".
  schedule::Schedule schedule;
  llvm::SmallVector<int64_t> cuts;
  /// Predicted for its program; of a step too long to be lowered more than
  /// once, simulated.
  double stepSeconds = 0;
  /// By how much a step of its stages in another order may be shorter, if
  /// memory is no matter.
  double gap = 0;
};

/// Lowers about a dozen orders, or up to three dozen if there is a
/// `memory-limit`: what is searched with estimated times and bytes is corrected
/// by what programs have. Named schedules are among them. If nothing keeps the
/// limit, reports at `main` what the leanest order needed.
mlir::FailureOr<ChosenOrder> searchOrder(mlir::func::FuncOp main, PlanAttr plan,
                                         LowerOrder lower);

} // namespace pp

#endif // PP_PLANNER_SEARCHORDER_H
