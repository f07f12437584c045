//===- SeedCosts.h - costs of a step with seeds -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A rehearsal of propagation and partitioning: seeds spread as in
// pp-propagate-shardings, each op costs the share of one device, and each
// change of layout the result of the reshard search. Nothing is written. It
// omits costs that differ little between sets of seeds: the states of the
// optimizer, scans in shards, gathers of `zero`.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_SEEDCOSTS_H
#define PP_LIB_PLANNER_SEEDCOSTS_H

#include "SeedLayouts.h"
#include "WorkCosts.h"
#include "pp/Planner/ReshardQuestion.h"

namespace pp {

/// Costs of one device.
struct StepCost {
  double seconds = 0;
  /// Parameters, and values that forward keeps for backward.
  double bytes = 0;
  /// SeedLayouts::useAllAxes
  bool usesAllAxes = true;
};

class SeedCosts {
public:
  SeedCosts(mlir::func::FuncOp main, MeshAttr mesh,
            const schedule::Topology &topology);

  /// With the seeds of `plan`; `look` sees where they spread. Reports an op
  /// without a rule or a cost.
  mlir::FailureOr<StepCost>
  measure(PlanAttr plan,
          llvm::function_ref<void(const SeedLayouts &)> look = {});

private:
  mlir::func::FuncOp main;
  schedule::Topology topology;
  WorkCosts work;
  /// By mesh, divided as in the seeds; they cache their answers across sets of
  /// seeds.
  llvm::DenseMap<MeshAttr, reshard::ReshardPlanner> resharders;
};

} // namespace pp

#endif // PP_LIB_PLANNER_SEEDCOSTS_H
