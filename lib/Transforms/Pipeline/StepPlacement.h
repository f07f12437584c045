//===- StepPlacement.h - where and when each op of a step runs --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reads a level 2 step and answers, for every op, how often it runs (time
// class) and on which stages. Changes nothing.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_PIPELINE_STEPPLACEMENT_H
#define PP_LIB_TRANSFORMS_PIPELINE_STEPPLACEMENT_H

#include "pp/IR/Model.h"
#include "llvm/ADT/DenseMap.h"

namespace pp {

/// How a value changes over the micro-batches of a step.
enum class TimeClass {
  Invariant,     ///< the same for all of them
  PerMicroBatch, ///< one for each
  PerStep,       ///< accumulated over all of them, or computed from such
};

/// A sum whose addends live on different stages: each stage adds what it owns,
/// in order, then the stages reduce.
struct CrossStageSum {
  /// Addend and the stage that owns it (the first of those that hold it, so
  /// that a parameter held twice counts once).
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> addends;
  /// The owners, ascending; all of them get the result.
  llvm::SmallVector<int64_t> stages;
};

class StepPlacement {
public:
  /// Fails with a diagnostic when a value has no place.
  static mlir::FailureOr<StepPlacement> compute(mlir::func::FuncOp main,
                                                MeshAttr mesh);

  int64_t getNumStages() const { return numStages; }
  TimeClass getTimeClass(mlir::Value value) const {
    return timeClasses.lookup(value);
  }
  /// Stages on which `value` can be had without a transfer, ascending.
  llvm::ArrayRef<int64_t> getHome(mlir::Value value) const;
  /// The sum rooted at `op`, or null.
  const CrossStageSum *getSum(mlir::Operation *op) const;
  /// True for adds that a CrossStageSum has absorbed.
  bool isInsideSum(mlir::Operation *op) const { return insideSum.contains(op); }

private:
  bool addsAcrossStages(mlir::Operation &op) const;
  mlir::LogicalResult classify(mlir::Operation &op);
  mlir::LogicalResult place(mlir::Operation &op);
  void collectAddends(mlir::Value value,
                      llvm::SmallVectorImpl<mlir::Value> &addends) const;

  int64_t numStages = 1;
  mlir::StringAttr timeAxis;
  llvm::SmallVector<int64_t> allStages;
  llvm::DenseMap<mlir::Value, TimeClass> timeClasses;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> homes;
  llvm::DenseMap<mlir::Operation *, CrossStageSum> sums;
  llvm::DenseSet<mlir::Operation *> insideSum;
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_PIPELINE_STEPPLACEMENT_H
