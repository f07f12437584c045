//===- AxisSplits.h - which axes will split what ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A look ahead at propagation: in, a function of level 1 and a plan with seeds;
// out, which part of each value and of each op's work one device
// has. An axis that a seed puts on a dimension is taken to split all that
// share a factor with it, once in each op and value. Where propagation meets a
// conflict, it splits less.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_AXISSPLITS_H
#define PP_LIB_PLANNER_AXISSPLITS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/Analysis/FactorClasses.h"
#include "pp/Analysis/RuleTable.h"

namespace pp {

class AxisSplits {
public:
  AxisSplits(mlir::func::FuncOp main, PlanAttr plan)
      : main(main), plan(plan), mesh(plan.getMesh()) {}

  /// Fails with a diagnostic on an op without a rule. Seeds that do not fit
  /// split nothing: pp-annotate-shardings reports them.
  llvm::LogicalResult run();

  /// Of all devices that share the work of forward or backward op `op`, the
  /// part of one. Time does not count.
  double shareOf(mlir::Operation *op) const;
  double shareOf(mlir::Value value) const;

private:
  using Class = FactorClasses::Class;
  /// What is known of a class.
  struct Split {
    /// Elements that one shard has.
    int64_t left;
    /// Axes by their position in the mesh, and what each leaves.
    llvm::SmallVector<std::pair<int64_t, double>, 2> axes;
  };

  void place(mlir::Value value, llvm::ArrayRef<DimShardingAttr> dims);
  void place(Class number, int64_t axis);
  double productOf(llvm::ArrayRef<Class> numbers) const;

  mlir::func::FuncOp main;
  PlanAttr plan;
  MeshAttr mesh;
  FactorClasses classes;
  RuleTable rules;
  llvm::DenseMap<mlir::Operation *, const ShardingRule *> ruleOf;
  llvm::DenseMap<Class, Split> splits;
};

} // namespace pp

#endif // PP_LIB_PLANNER_AXISSPLITS_H
