//===- CauseFinder.h - finds the cause of a collective ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For the partitioner, while the global function exists: which op made a value,
// which op wants another layout, and the sources of both.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_CAUSEFINDER_H
#define PP_LIB_TRANSFORMS_SHARD_CAUSEFINDER_H

#include "Resharder.h"
#include "pp/Transforms/Cause.h"
#include "pp/Transforms/Sources.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/SetVector.h"

namespace pp {

class CauseFinder {
public:
  /// In `main` all ops have rules. Takes the sources out of its locations.
  /// `plan` may be null.
  CauseFinder(mlir::func::FuncOp main, MeshView mesh, PlanAttr plan);

  /// Why the value of `use`, which is there as `from`, is brought to `layout`.
  Cause find(mlir::OpOperand &use, const LocalValue &from,
             const Layout &layout);

private:
  using Roots = llvm::SmallSetVector<mlir::StringAttr, 2>;

  const Source *lookup(mlir::Value value, int axis) const;
  void joinRoots();
  void join(ShardingOpInterface op);
  unsigned numberOf(const Source &source);
  void insert(const Source &source, Roots &roots) const;
  mlir::Operation *appendReduced(mlir::Value value, int axis,
                                 Roots &roots) const;
  void appendReaders(mlir::OpOperand &use, int axis, unsigned dim,
                     bool isWanted, Roots &roots);
  void findOrigins(mlir::OpOperand &use, const LocalValue &from,
                   const Layout &layout, Cause &cause);

  mlir::func::FuncOp main;
  MeshView mesh;
  PlanAttr plan;
  llvm::SmallVector<mlir::BlockArgument> updated; ///< by results
  llvm::DenseMap<mlir::Value, ValueSources> sources;
  /// The requests for each axis, those of arguments first, and equal ones.
  using Asked = std::pair<int, mlir::StringAttr>;
  llvm::SmallVector<Asked> asked;
  llvm::DenseMap<Asked, unsigned> numbers;
  llvm::IntEqClasses same;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_CAUSEFINDER_H
