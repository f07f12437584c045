//===- PaddingCosts.h - costs of shared and separate padding ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Where an op merges dimensions, padding of a factor grows the merged one, too:
// 5 heads of 8 over four devices are 8 heads, and 64 columns where 40 would
// divide. Either all ops compute on the padded dimension, or the op that merges
// gathers it, and each side is padded separately. In: a sharding on every
// value, and how padding would grow it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_PADDINGCOSTS_H
#define PP_PLANNER_PADDINGCOSTS_H

#include "pp/Analysis/Factors.h"
#include "pp/Transforms/Shard/ReshardPlanner.h"
#include "llvm/ADT/SmallBitVector.h"
#include <memory>

namespace pp {

class WorkCosts;

class PaddingCosts {
public:
  /// With the links of the plan.
  PaddingCosts(mlir::func::FuncOp main, const MeshView &mesh, PlanAttr plan);
  ~PaddingCosts();

  /// Seconds that a device computes `op` in a step, with loops and values grown
  /// by these factors.
  double secondsOf(mlir::Operation *op, const ShardingRule &rule, double ofOp,
                   llvm::function_ref<double(mlir::Value)> ofValue) const;

  /// Additional seconds of communication in a step if `op` gets `factors`
  /// whole; infinity over micro-batches. `typeOf` gives the padded types, which
  /// divide.
  double secondsToGather(
      mlir::Operation *op, const ShardingRule &rule,
      const llvm::SmallBitVector &factors,
      llvm::function_ref<mlir::RankedTensorType(mlir::Value)> typeOf);

private:
  double devicesOf(const AxisList &axes) const;

  MeshView mesh;
  std::unique_ptr<WorkCosts> work;
  reshard::ReshardPlanner reshards;
};

} // namespace pp

#endif // PP_PLANNER_PADDINGCOSTS_H
