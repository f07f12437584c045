//===- SeedCosts.h - costs of a step with seeds -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A rehearsal of propagation and partitioning: seeds spread as
// pp-propagate-shardings will have them, each op costs what the axes leave to
// one device, and each change of layout what the reshard search says. Nothing
// is written. Left out is what differs little from one set of seeds to the
// next: the states of the optimizer, scans in shards, what `zero` shares out.
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
  /// Parameters, and what forward keeps for backward.
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
  /// By mesh, divided as the seeds have it; they remember their answers from
  /// one set of seeds to the next.
  llvm::DenseMap<MeshAttr, reshard::ReshardPlanner> resharders;
};

} // namespace pp

#endif // PP_LIB_PLANNER_SEEDCOSTS_H
