//===- SearchOrder.h - the order behind schedule=auto -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a differentiated level 1 function and a plan. Out: the order of actions,
// the number of stages and their places with the shortest step that is known,
// within the plan's `memory-limit`. ScheduleSearch.h searches; here, stages are
// cut and measured for each way to lay them out, and what an order needs is
// asked of whoever can lower the module.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_SEARCHORDER_H
#define PP_PLANNER_SEARCHORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"
#include "pp/Planner/ScheduleSearch.h"

namespace pp {

/// The bytes that a rank of each position needs if the module is lowered in
/// this order; with remat=auto, the fewest.
using MeasureOrder =
    llvm::function_ref<mlir::FailureOr<llvm::SmallVector<int64_t>>(
        const schedule::Schedule &)>;

/// Calls `measure` only if the plan has a `memory-limit`. The search counts
/// bytes as it estimates them: an order that needs too much leads to a search
/// with smaller limits, a few times. If nothing fits, reports at `main` the
/// least that was measured.
mlir::FailureOr<FoundSchedule> searchOrder(mlir::func::FuncOp main,
                                           PlanAttr plan, MeasureOrder measure);

} // namespace pp

#endif // PP_PLANNER_SEARCHORDER_H
