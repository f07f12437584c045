//===- StageCuts.h - where to cut a model into stages -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a differentiated level 1 function, a plan and the figures of a machine.
// Out: cuts, which pp-cut-stages writes into the plan; nothing here changes the
// function. What is measured is global tensors before partitioning; an axis
// divides what its seeds say that it will split.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_STAGECUTS_H
#define PP_PLANNER_STAGECUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"
#include "pp/Schedule/Schedule.h"
#include "pp/Schedule/Topology.h"

namespace pp {

/// Stages and micro-batches are axes of the plan's mesh. Where the plan has no
/// seeds, those count that pp-annotate-shardings will find.
struct StageCutProblem {
  PlanAttr plan;
  schedule::Topology topology;

  int64_t stages() const { return sizeOf(plan.getMesh().getStageAxis()); }
  int64_t microBatches() const { return sizeOf(plan.getMesh().getTimeAxis()); }

private:
  static int64_t sizeOf(MeshAxisAttr axis) { return axis ? axis.getSize() : 1; }
};

/// What a stage costs, for each forward op of a function in order: seconds of a
/// micro-batch on one device.
struct StageCosts {
  /// Running sums over the forward ops and over all that derives from them.
  std::vector<double> forward = {0}, backward = {0};
  /// Running count of ops that are work: they depend on an input, so that they
  /// are not cloned to wherever they are used, and the loss on them.
  std::vector<int64_t> work = {0};
  /// What a message of the values takes that cross the boundary before an op,
  /// forwards; back as much, as gradients.
  std::vector<double> crossing = {0};

  int64_t size() const { return int64_t(work.size()) - 1; }
  double compute(int64_t begin, int64_t end) const {
    return forward[end] - forward[begin] + backward[end] - backward[begin];
  }
};

/// Takes a differentiated level 1 function: forward ops are numbered by
/// pp.origin in their order, derived ops carry the number of theirs.
mlir::FailureOr<StageCosts> measureStages(mlir::func::FuncOp main,
                                          const StageCutProblem &problem);

/// Seconds of the forward and backward actions of a step whose stages begin at
/// 0 and at `cuts`, in the order of `order`, which has at most as many
/// micro-batches as the step.
double simulateCuts(const StageCosts &costs, llvm::ArrayRef<int64_t> cuts,
                    const schedule::Schedule &order, int64_t microBatches);

/// Origins at which stages 1 .. stages-1 begin, chosen so that a step of the
/// schedule, simulated with the cost of every op and message, is short, and
/// among equals stages are most alike. Every stage gets a forward op
/// between an input and the loss; fails with a diagnostic when there are too
/// few. The choice is deterministic.
mlir::FailureOr<llvm::SmallVector<int64_t>>
chooseStageCuts(mlir::func::FuncOp main, const StageCutProblem &problem);

} // namespace pp

#endif // PP_PLANNER_STAGECUTS_H
