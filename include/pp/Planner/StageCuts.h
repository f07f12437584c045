//===- StageCuts.h - cuts a model into stages -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a differentiated level 1 function, a plan and the figures of a machine.
// Out: cuts, which pp-cut-stages writes into the plan. Costs are those of
// global tensors before partitioning, divided by the axes that seeds will
// split.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_STAGECUTS_H
#define PP_PLANNER_STAGECUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"
#include "pp/Planner/CutSearch.h"
#include "pp/Schedule/Topology.h"

namespace pp {

/// Stages are those of `order`; micro-batches are an axis of the plan's mesh.
/// If the plan has no seeds, the ones count that pp-annotate-shardings will
/// find.
struct StageCutProblem {
  PlanAttr plan;
  schedule::Topology topology;
  schedule::Schedule order;

  int64_t microBatches() const { return plan.getMesh().getNumMicroBatches(); }
};

/// In a differentiated level 1 function, forward ops are numbered by pp.origin
/// in their order; derived ops carry the same number.
mlir::FailureOr<StageCosts> measureStages(mlir::func::FuncOp main,
                                          const StageCutProblem &problem);

/// Where forward ops of these names (ValueNames.h), separated by commas, first
/// are, by pp.origin; or these numbers, in brackets. Reports a name of none.
mlir::FailureOr<llvm::SmallVector<int64_t>>
findNamedCuts(mlir::func::FuncOp main, llvm::StringRef names);

/// Origins at which stages 1 .. stages-1 begin, as findStageCuts() chooses
/// them. Every stage gets a forward op between an input and the loss; fails
/// with a diagnostic if there are too few.
mlir::FailureOr<std::vector<int64_t>>
chooseStageCuts(mlir::func::FuncOp main, const StageCutProblem &problem);

} // namespace pp

#endif // PP_PLANNER_STAGECUTS_H
