//===- KernelBody.h - bodies of kernels, narrow floats as f32 ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A part of pp-form-kernels. Floats narrower than f32 are types of memory:
// between the ops of one kernel values are f32, and rounded where they are
// written. Every op rounds as its type says if bits decide something, because a
// comparison must find the values that other kernels have computed (ExactOps),
// and if the plan has `numerics = "strict"`. Kernels without such ops are
// marked `pp.approximate`.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_KERNELBODY_H
#define PP_LIB_TRANSFORMS_LOWER_KERNELBODY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace pp {

/// The ops that a choice depends on, at any distance: comparisons, indices of
/// maxima, and conversions to integers choose. Values are recomputed, so two
/// kernels may compute the same value; these ops give it the same bits.
class ExactOps {
public:
  /// `isStrict`: all are.
  ExactOps(mlir::func::FuncOp function, bool isStrict);

  bool contains(mlir::Operation *op) const {
    return isStrict || ops.contains(op);
  }
  /// The values of narrow floats that are f32 before a kernel writes them.
  llvm::DenseSet<mlir::Value> findWide(mlir::Block &block) const;

private:
  void add(mlir::Value value);

  const bool isStrict;
  llvm::DenseSet<mlir::Operation *> ops;
};

/// Copies ops of a block into a kernel.
class KernelBody {
public:
  KernelBody(mlir::OpBuilder &builder, const ExactOps &exact)
      : builder(builder), exact(exact) {}

  /// `argument` has the value's elements, or f32 for narrow floats.
  void addArgument(mlir::Value value, mlir::Value argument);
  /// Copies `op`, without the marks of earlier levels, and its operands from
  /// ops that belong to no kernel.
  void add(mlir::Operation *op);
  /// The copy of `value`, of its own type or of f32.
  mlir::Value get(mlir::Value value, bool isWide);
  /// Whether a choice depends on an op of the kernel.
  bool isExact() const { return hasExact; }

private:
  mlir::Value getNarrow(mlir::Value value);
  mlir::Value getWide(mlir::Value value);
  mlir::Value widen(mlir::Value narrow);
  mlir::Value convert(mlir::Value value, mlir::Type element);
  bool computesWide(mlir::Operation *op) const;

  mlir::OpBuilder &builder;
  const ExactOps &exact;
  bool hasExact = false;
  /// Copies: of the value's own type, and in f32. A value has one or both.
  llvm::DenseMap<mlir::Value, mlir::Value> narrow, wide;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_KERNELBODY_H
