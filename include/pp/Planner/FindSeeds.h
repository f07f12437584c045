//===- FindSeeds.h - chooses seeds for a plan -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Found from the graph's contractions and from the dimension names of the model
// (pp.dims), not from the names of parameters; what that leaves whole is
// decided by predicted time and memory. In: a model at level 1.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_FINDSEEDS_H
#define PP_PLANNER_FINDSEEDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"

namespace pp {

/// `plan` with seeds, if it has none: for axes "mb", "dp" (inputs and labels,
/// priority 0) and "tp" (parameters, priority 1), as far as the plan's mesh has
/// them. "ep" splits the batch as "dp" does, and experts where tokens come to
/// them; "sp" splits the sequence, and heads where attention reads all of it
/// (priority 0; barriers where values travel). If the plan has `sequence =
/// "true"`, "tp" also splits the sequence of inputs (priority 2), and so
/// everything between the layers whose tensors are split. If dimensions share
/// "tp", the mesh has it in parts.
mlir::FailureOr<PlanAttr> withSeeds(mlir::func::FuncOp main, PlanAttr plan);

} // namespace pp

#endif // PP_PLANNER_FINDSEEDS_H
