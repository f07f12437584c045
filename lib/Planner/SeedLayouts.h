//===- SeedLayouts.h - layouts under seeds ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A rehearsal of propagation: in, a function of level 1 and a plan with seeds;
// out, the layouts that pp-propagate-shardings would write, but for the update,
// and the part of each op's work and of each value that one device has. Seeds
// that do not fit split nothing: pp-annotate-shardings reports them.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_SEEDLAYOUTS_H
#define PP_LIB_PLANNER_SEEDLAYOUTS_H

#include "pp/Analysis/Seeds.h"
#include "pp/Analysis/ShardingSpread.h"
#include <map>
#include <memory>

namespace pp {

class SeedLayouts {
public:
  /// Over the mesh of the plan, divided where that would be. Reports an op
  /// without a rule.
  static mlir::FailureOr<std::unique_ptr<SeedLayouts>>
  find(mlir::func::FuncOp main, PlanAttr plan);

  const MeshView &mesh() const { return view; }
  /// Forward and backward ops.
  llvm::ArrayRef<ShardingSpread::Node> getNodes() const {
    return graph.getNodes();
  }
  const Layout &layoutOf(mlir::Value value) const {
    return graph.getValues()[numbers.lookup(value)].layout;
  }
  /// The axes with which an op computes on one device.
  Layout factorsOf(const ShardingSpread::Node &node) const;

  /// The share of one device in the work of an op whose factors have `axes`;
  /// dimensions that do not divide are padded. Time does not count.
  double shareOf(const ShardingRule &rule, llvm::ArrayRef<AxisList> axes) const;
  double shareOf(mlir::Value value) const {
    return shareOf(value, layoutOf(value));
  }
  double shareOf(mlir::Value value, const Layout &layout) const;
  /// Whether all of an axis, or all its parts, split a value, without padding.
  bool splitsEvenly(mlir::Value value, llvm::StringRef axis) const;
  /// Whether every axis splits something; a plan is refused if one does not.
  bool useAllAxes() const;

private:
  struct Wish {
    int value;
    unsigned dim;
    AxisList axes;
  };

  SeedLayouts(mlir::func::FuncOp main, PlanAttr plan)
      : main(main), view(plan.getMesh(), {}, plan), table(plan), graph(view) {}

  mlir::LogicalResult run();
  int numberOf(mlir::Value value);
  void wish(mlir::Value value, llvm::ArrayRef<DimShardingAttr> dims,
            bool isOpen, std::optional<int64_t> priority);
  void wish(mlir::Operation &op, ShardingSpread::Node &node);
  double shareOf(llvm::ArrayRef<AxisList> layout,
                 llvm::ArrayRef<int64_t> sizes) const;

  mlir::func::FuncOp main;
  MeshView view;
  const SeedTable table;
  ShardingSpread graph;
  llvm::DenseMap<mlir::Value, int> numbers;
  /// Ops that are the identity between two layouts.
  llvm::DenseSet<mlir::Operation *> barriers;
  std::map<int64_t, llvm::SmallVector<Wish>> rounds;
};

} // namespace pp

#endif // PP_LIB_PLANNER_SEEDLAYOUTS_H
