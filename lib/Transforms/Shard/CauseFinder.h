//===- CauseFinder.h - what is known of a collective's cause ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For the partitioner, while the global function is there: who made a value,
// who wants it otherwise, and to whose wishes both go back.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_CAUSEFINDER_H
#define PP_LIB_TRANSFORMS_SHARD_CAUSEFINDER_H

#include "Resharder.h"
#include "pp/Transforms/Cause.h"
#include "pp/Transforms/Sources.h"
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
  void appendReduced(mlir::Value value, int axis, Roots &roots) const;
  void appendReaders(mlir::OpOperand &use, int axis, unsigned dim,
                     bool isWanted, Roots &roots);
  void findOrigins(mlir::OpOperand &use, const LocalValue &from,
                   const Layout &layout, Cause &cause);

  mlir::func::FuncOp main;
  MeshView mesh;
  PlanAttr plan;
  llvm::SmallVector<mlir::BlockArgument> updated; ///< by results
  llvm::DenseMap<mlir::Value, ValueSources> sources;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_CAUSEFINDER_H
