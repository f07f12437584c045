//===- KeyDims.h - which dimensions keys of the plan speak of ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// `sequence` speaks of what the model calls so on its inputs, `vocab` of that
// along which inputs look something up. Both are read off the graph, in all
// values that share a factor with it: a hidden size that happens to equal a
// vocabulary's is none.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_KEYDIMS_H
#define PP_PLANNER_KEYDIMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/Analysis/FactorClasses.h"
#include "pp/IR/PlanKeys.h"
#include "llvm/ADT/BitVector.h"

namespace pp {

/// The factor of `op` along which an input looks something up, if it does.
std::optional<unsigned> findLookUp(mlir::func::FuncOp main,
                                   mlir::Operation *op);

class KeyDims {
public:
  /// Of the values that `main` has now.
  explicit KeyDims(mlir::func::FuncOp main);

  /// Whether a dimension of a value, or a factor of an op, is one that `key`
  /// speaks of.
  bool isOf(PlanKey key, mlir::Value value, unsigned dim) const {
    return isOf(key, classes.classesOf(value, dim));
  }
  bool isOf(PlanKey key, mlir::Operation *op, unsigned factor) const {
    return isOf(key, classes.classesOf(op, factor));
  }
  /// Which dimensions share factors.
  const FactorClasses &getClasses() const { return classes; }

private:
  bool isOf(PlanKey key, llvm::ArrayRef<FactorClasses::Class> numbers) const;

  FactorClasses classes;
  llvm::BitVector sequence, lookedUp;
};

} // namespace pp

#endif // PP_PLANNER_KEYDIMS_H
