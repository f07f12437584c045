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
#include "pp/Schedule/Schedule.h"
#include "pp/Schedule/Topology.h"

namespace pp {

/// Stages and micro-batches are axes of the plan's mesh. If the plan has no
/// seeds, the ones count that pp-annotate-shardings will find.
struct StageCutProblem {
  PlanAttr plan;
  schedule::Topology topology;

  int64_t stages() const { return sizeOf(plan.getMesh().getStageAxis()); }
  int64_t microBatches() const { return sizeOf(plan.getMesh().getTimeAxis()); }

private:
  static int64_t sizeOf(MeshAxisAttr axis) { return axis ? axis.getSize() : 1; }
};

/// Costs of stages, by forward op in order: seconds of a micro-batch on one
/// device.
struct StageCosts {
  /// Running sums over the forward ops and the ops that derive from them.
  std::vector<double> forward = {0}, backward = {0};
  /// Running count of ops that are work: they depend on an input (so they are
  /// not cloned), and the loss depends on them.
  std::vector<int64_t> work = {0};
  /// Time of a message of the values that cross the boundary before an op;
  /// their gradients take as long on the way back.
  std::vector<double> crossing = {0};

  int64_t size() const { return int64_t(work.size()) - 1; }
  double compute(int64_t begin, int64_t end) const {
    return forward[end] - forward[begin] + backward[end] - backward[begin];
  }
};

/// In a differentiated level 1 function, forward ops are numbered by pp.origin
/// in their order; derived ops carry the same number.
mlir::FailureOr<StageCosts> measureStages(mlir::func::FuncOp main,
                                          const StageCutProblem &problem);

/// Seconds of the forward and backward actions of a step whose stages begin at
/// 0 and at `cuts`, in the order of `order`, which has at most as many
/// micro-batches as the step.
double simulateCuts(const StageCosts &costs, llvm::ArrayRef<int64_t> cuts,
                    const schedule::Schedule &order, int64_t microBatches);

/// Origins at which stages 1 .. stages-1 begin, chosen so that a simulated step
/// of the schedule is short, and among equals stages are most alike. Every
/// stage gets a forward op between an input and the loss; fails with a
/// diagnostic if there are too few. The choice is deterministic.
mlir::FailureOr<llvm::SmallVector<int64_t>>
chooseStageCuts(mlir::func::FuncOp main, const StageCutProblem &problem);

} // namespace pp

#endif // PP_PLANNER_STAGECUTS_H
