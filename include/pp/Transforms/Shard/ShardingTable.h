//===- ShardingTable.h - shardings and partial axes of values ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The shardings that propagation wrote, with the axes over which an op leaves
// its result partial, which no attribute stores.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_SHARD_SHARDINGTABLE_H
#define PP_TRANSFORMS_SHARD_SHARDINGTABLE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"

namespace pp {

class ShardingTable {
public:
  /// For a module of level graph; reports a value without a sharding.
  static mlir::FailureOr<ShardingTable> of(mlir::ModuleOp module);

  /// The sharding of an argument, or of the result of an op before any
  /// collective.
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
