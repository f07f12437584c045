//===- KeyDims.h - dimensions of the keys of a plan -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// `sequence` concerns the dimensions that the model names so on its inputs,
// `vocab` those along which inputs look something up. Both follow factors
// through the graph, so a hidden size that happens to equal the vocabulary's
// does not count.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_KEYDIMS_H
#define PP_PLANNER_KEYDIMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/Analysis/FactorClasses.h"
#include "pp/IR/PlanKeys.h"
#include "llvm/ADT/BitVector.h"

namespace pp {

/// The factor of `op` along which an input looks something up, if any.
std::optional<unsigned> findLookUp(mlir::func::FuncOp main,
                                   mlir::Operation *op);

class KeyDims {
public:
  /// For the values of `main` as it is now.
  explicit KeyDims(mlir::func::FuncOp main);

  /// Whether `key` concerns a dimension of a value, or a factor of an op.
  bool isOf(PlanKey key, mlir::Value value, unsigned dim) const {
    return isOf(key, classes.classesOf(value, dim));
  }
  bool isOf(PlanKey key, mlir::Operation *op, unsigned factor) const {
    return isOf(key, classes.classesOf(op, factor));
  }
  /// The classes of dimensions that share factors.
  const FactorClasses &getClasses() const { return classes; }

private:
  bool isOf(PlanKey key, llvm::ArrayRef<FactorClasses::Class> numbers) const;

  FactorClasses classes;
  llvm::BitVector sequence, lookedUp;
};

} // namespace pp

#endif // PP_PLANNER_KEYDIMS_H
