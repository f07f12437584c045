//===- MakePlan.h - from command line options to a plan ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// `pp-make-plan` and `--pp-parallelize` make a plan from the keys of
// PlanKeys.def. Absent seeds and stage cuts stay open; later passes fill them
// in.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_SHARD_MAKEPLAN_H
#define PP_TRANSFORMS_SHARD_MAKEPLAN_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "pp/IR/PlanKeys.h"

namespace pp {

/// Refuses to replace a plan that is there already.
mlir::LogicalResult checkHasNoPlan(mlir::ModuleOp module);

/// Refuses keys of a model's training for a step, which brings its own.
mlir::LogicalResult checkFitsStep(mlir::ModuleOp module,
                                  const PlanOptions &options);

/// Writes the plan onto the module and adds its `pp.mesh @mesh`. Without an
/// optimizer among the options the plan has none. Reports what check() finds.
mlir::LogicalResult buildPlan(mlir::ModuleOp module,
                              const PlanOptions &options);

/// The pass `pp-make-plan` with its options given.
std::unique_ptr<mlir::Pass> createMakePlan(const PlanOptions &options);

} // namespace pp

#endif // PP_TRANSFORMS_SHARD_MAKEPLAN_H
