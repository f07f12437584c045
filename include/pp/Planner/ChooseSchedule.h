//===- ChooseSchedule.h - the order that a plan asks for --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a plan, whose `schedule` is a rule or a file. Out: the verified table,
// for the places of its mesh's stage axis and its micro-batches.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_CHOOSESCHEDULE_H
#define PP_PLANNER_CHOOSESCHEDULE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"

namespace pp {

/// Reports at `main` what a rule cannot do, or what is wrong with a file. In
/// the table of a file every stage that has weight actions has one for each
/// micro-batch.
mlir::FailureOr<schedule::Schedule> chooseSchedule(mlir::func::FuncOp main,
                                                   PlanAttr plan);

} // namespace pp

#endif // PP_PLANNER_CHOOSESCHEDULE_H
