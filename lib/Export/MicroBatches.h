//===- MicroBatches.h - where a step repeats --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a step of level 1 or 2. Out: which ops run once, in which order of
// rounds, and for each round the loop over micro-batches behind it: what it
// computes, what it adds up, what it collects, and what it needs from outside.
//
// A value is of a micro-batch if time splits the argument, the slice or the
// index that it derives from. Each sum over time ends a round; what reads it
// belongs to the next. A loop computes all that its sums need, anew what an
// earlier loop computed, and itself what each reader makes (constants).
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_EXPORT_MICROBATCHES_H
#define PP_LIB_EXPORT_MICROBATCHES_H

#include "Forms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace pp::hlo {

struct MicroBatchLoop {
  llvm::SmallVector<AccumulateOp> sums;
  /// Values that the step returns of every micro-batch.
  llvm::SetVector<mlir::Value> collected;
  llvm::DenseSet<mlir::Operation *> ops;
  /// Arguments and results of ops outside.
  llvm::SetVector<mlir::Value> captures;
};

class MicroBatches {
public:
  MicroBatches(mlir::func::FuncOp main, const Device &device);

  bool isPerMicroBatch(mlir::Value value) const {
    return places.lookup(value).isPerMicroBatch;
  }
  /// Whether the op is written outside of loops, and in which round.
  bool isOutside(mlir::Operation *op) const { return outside.contains(op); }
  unsigned getRound(mlir::Operation *op) const {
    return places.lookup(op->getResult(0)).round;
  }

  std::vector<MicroBatchLoop> loops;

private:
  struct Place {
    bool isPerMicroBatch = false;
    unsigned round = 0;
  };

  void place(mlir::Operation *op, const Device &device);
  /// Adds `value` and what it derives from to a loop.
  void request(mlir::Value value, MicroBatchLoop &loop);
  void requestOutside(mlir::Value value);

  llvm::DenseMap<mlir::Value, Place> places;
  llvm::DenseSet<mlir::Operation *> outside;
};

} // namespace pp::hlo

#endif // PP_LIB_EXPORT_MICROBATCHES_H
