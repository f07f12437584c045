//===- PrecisionPolicy.h - what each op does in 16 bits ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The policy of pp-lower-precision: one rule per op. It is that of PyTorch's
// autocast, except that sums of low values, such as the residual stream, stay
// low, and that lookups in tables of parameters are rounded, so that what a
// model keeps for its backward pass has 16 bits.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_TRAIN_PRECISIONPOLICY_H
#define PP_LIB_TRANSFORMS_TRAIN_PRECISIONPOLICY_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace pp {

enum class PrecisionRule {
  /// Reads and writes the low type, and sums in f32.
  Low,
  /// Low if all operands are that depend on the batch, for it rounds at most
  /// once.
  Follows,
  /// The same, and rounding its operand instead of its result changes nothing
  /// but a factor's rounding: it moves, selects or scales elements.
  Moves,
  /// Computes in f32, and rounds its result: a lookup in a table, which reads
  /// the rounded table instead if an op of rule Low does.
  Rounds,
  /// Computes in f32. Its result is rounded if an op of rule Low reads it.
  Wide,
};

/// The rule of `op`. `batch`: the values that depend on the batch.
PrecisionRule getPrecisionRule(mlir::Operation *op,
                               const llvm::DenseSet<mlir::Value> &batch);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_TRAIN_PRECISIONPOLICY_H
