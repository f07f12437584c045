//===- FindSeeds.h - the seeds of a plan that gives none --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Found from how the graph contracts and from what the model says of its
// dimensions (pp.dims), not from the names of parameters; weighed by predicted
// time and memory where that leaves work whole. In: a model at level 1.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_FINDSEEDS_H
#define PP_PLANNER_FINDSEEDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"

namespace pp {

/// `plan`, if it gives no seeds, with such: for axes "mb", "dp" (inputs and
/// labels, priority 0) and "tp" (parameters, priority 1), as far as the plan's
/// mesh has them. "ep" splits the batch as "dp" does, and experts where tokens
/// come to them; "sp" splits the sequence, and heads where attention reads all
/// of it (priority 0; barriers where values travel). Where the plan says
/// `sequence = "true"`, "tp" also splits the sequence of inputs (priority 2):
/// whatever lies between the layers that tensors are split in. Where dimensions
/// share "tp", the mesh has it in parts.
mlir::FailureOr<PlanAttr> withSeeds(mlir::func::FuncOp main, PlanAttr plan);

} // namespace pp

#endif // PP_PLANNER_FINDSEEDS_H
