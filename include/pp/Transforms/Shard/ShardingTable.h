//===- ShardingTable.h - how values lie, and are left behind ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The shardings that propagation wrote, with the axes over which an op leaves
// its result partial, which no attribute says.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_SHARD_SHARDINGTABLE_H
#define PP_TRANSFORMS_SHARD_SHARDINGTABLE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"

namespace pp {

class ShardingTable {
public:
  /// Of a module of level graph with a sharding on every value, which is
  /// checked.
  static mlir::FailureOr<ShardingTable> of(mlir::ModuleOp module);

  /// How an argument, or the result of an op as it comes from the op, lies.
  ShardingAttr lookup(mlir::Value value) const;

  mlir::func::FuncOp main;
  MeshAttr mesh;

private:
  ShardingTable() = default;
  mlir::FlatSymbolRefAttr symbol;
  PlanAttr plan;
};

} // namespace pp

#endif // PP_TRANSFORMS_SHARD_SHARDINGTABLE_H
