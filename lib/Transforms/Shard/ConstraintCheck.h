//===- ConstraintCheck.h - the model's constraints hold together *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A constraint is the value that it reads, unless it is a barrier: so what it
// closes must agree with what an argument, a seed or another constraint closes
// of the same value. Those that stand for seeds were checked as these.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_CONSTRAINTCHECK_H
#define PP_LIB_TRANSFORMS_SHARD_CONSTRAINTCHECK_H

#include "SeededSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pp {

class ConstraintCheck {
public:
  /// Of the constraints that are in `main` now.
  ConstraintCheck(mlir::func::FuncOp main, MeshAttr mesh,
                  mlir::FlatSymbolRefAttr symbol);

  /// How an argument lies.
  void enter(mlir::BlockArgument argument, const SeededSharding &sharding);
  /// Once the arguments, and constraints in place of names, are there.
  mlir::LogicalResult run();

private:
  mlir::LogicalResult check(ShardingConstraintOp constraint);
  /// Refuses what `dims`, of `value`, contradicts; `getOwner` tells whose a
  /// dimension of these is.
  mlir::LogicalResult
  compare(ShardingConstraintOp constraint, mlir::Value value,
          llvm::ArrayRef<DimShardingAttr> dims,
          llvm::function_ref<std::string(unsigned)> getOwner);

  MeshAttr mesh;
  mlir::FlatSymbolRefAttr symbol;
  llvm::SmallVector<ShardingConstraintOp> constraints;
  struct Argument {
    ShardingAttr sharding;
    llvm::SmallVector<std::string, 0> owners; ///< of its dimensions
  };
  llvm::DenseMap<mlir::Value, Argument> arguments;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_CONSTRAINTCHECK_H
