//===- ConstraintCheck.h - the model's constraints hold together *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A constraint is the value that it reads, unless it is a barrier: so its
// closed dimensions must agree with those of an argument, a seed or another
// constraint of the same value, before it or beside it. Constraints that stand
// for seeds were checked as seeds.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_CONSTRAINTCHECK_H
#define PP_LIB_TRANSFORMS_SHARD_CONSTRAINTCHECK_H

#include "SeededSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

namespace pp {

class ConstraintCheck {
public:
  /// For the constraints that are in `main` now.
  ConstraintCheck(mlir::func::FuncOp main, MeshAttr mesh,
                  mlir::FlatSymbolRefAttr symbol);

  /// Adds the sharding of an argument.
  void enter(mlir::BlockArgument argument, const SeededSharding &sharding);
  /// Once the arguments, and constraints in place of names, are there.
  mlir::LogicalResult run();

private:
  bool isOfModel(ShardingConstraintOp constraint) const {
    return constraints.contains(constraint);
  }
  mlir::Value findValue(ShardingConstraintOp constraint) const;
  mlir::LogicalResult addOthers(mlir::Value value, SeededSharding &sharding);

  MeshAttr mesh;
  mlir::FlatSymbolRefAttr symbol;
  llvm::SetVector<ShardingConstraintOp> constraints;
  llvm::DenseMap<mlir::Value, SeededSharding> arguments;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_CONSTRAINTCHECK_H
