//===- StepPlacement.h - stages and times of ops ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reads a level 2 step and answers, for every op, how often it runs (time
// class) and on which stages. Changes nothing.
//
// Values of a micro-batch are sent where they are needed. The update, which
// runs once a step, is computed on request: results request their values, and
// an op requests its operands on the stages on which it is requested. If that
// leads to a value that a stage cannot compute, the stage gets it from a sum
// over stages, to which it adds zeros. The sum is taken at an op that lacks
// several operands, or one larger than its result; otherwise at the missing
// operand.
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

/// How stages get a value that not all stages in need of it can compute alone:
/// each adds up its addends in order, or takes zeros, and then they reduce.
struct CrossStageSum {
  /// The addends, and the one stage that adds each, so that a parameter held
  /// twice counts once. A value that is no sum is its only addend.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> addends;
  /// The stages that add or need something, ascending; all get the result.
  llvm::SmallVector<int64_t> stages;
};

class StepPlacement {
public:
  /// Fails with a diagnostic when a value has no place.
  static mlir::FailureOr<StepPlacement> compute(mlir::func::FuncOp main,
                                                MeshAttr mesh);

  int64_t getNumStages() const { return numStages; }
  TimeClass getTimeClass(mlir::Value value) const {
    return places.lookup(value).time;
  }
  /// Stages that can compute `value` (for an argument: that hold it) without
  /// another sum over stages, ascending.
  llvm::ArrayRef<int64_t> getHome(mlir::Value value) const {
    return places.at(value).home;
  }
  /// Stages that return result `index`: for a parameter or state those that
  /// hold it, else one.
  llvm::ArrayRef<int64_t> getResultStages(unsigned index) const {
    return resultStages[index];
  }
  /// How the update gets at `value`, or null if every stage that needs it
  /// computes it.
  const CrossStageSum *getSum(mlir::Value value) const;

private:
  using Stages = llvm::SmallVector<int64_t>;
  /// Facts about a value.
  struct Place {
    TimeClass time = TimeClass::Invariant;
    llvm::ArrayRef<int64_t> home;
  };

  explicit StepPlacement(mlir::func::FuncOp main) : main(main) {}

  /// The same stages, which stay: few lists serve all values.
  llvm::ArrayRef<int64_t> keep(llvm::ArrayRef<int64_t> stages);
  mlir::LogicalResult placeOps();
  bool addsAcrossStages(mlir::Operation &op) const;
  bool belongsToStage(mlir::Operation &op) const;
  mlir::LogicalResult classify(mlir::Operation &op);
  mlir::LogicalResult placeInMicroBatch(mlir::Operation &op);
  mlir::LogicalResult placeInStep(mlir::Operation &op);
  mlir::LogicalResult verifyOrder();
  void placeResults();
  /// Stages that can have `value`: every participant has the result of a sum.
  llvm::ArrayRef<int64_t> getReach(mlir::Value value) const {
    return sums.contains(value) ? llvm::ArrayRef<int64_t>(allStages)
                                : getHome(value);
  }
  mlir::Value findOutOfReach();
  /// Notes that the update needs `value` on `stages`.
  void ask(mlir::Value value, llvm::ArrayRef<int64_t> stages);
  void askForAddends(mlir::Value value, CrossStageSum &sum);
  bool lacksOneOperand(mlir::Value value) const;
  bool isComputedInStep(mlir::Value value) const;
  void collectAddends(mlir::Value value,
                      llvm::SmallVectorImpl<mlir::Value> &addends) const;

  mlir::func::FuncOp main;
  int64_t numStages = 1;
  mlir::StringAttr timeAxis;
  Stages allStages;
  llvm::DenseMap<mlir::Value, Place> places;
  /// The ops that do not run once for each micro-batch, in order.
  llvm::SmallVector<mlir::Operation *> stepOps;
  llvm::SmallVector<Stages> resultStages;
  /// The stages whose update needs a value.
  llvm::DenseMap<mlir::Value, llvm::ArrayRef<int64_t>> asked;
  llvm::DenseMap<mlir::Value, CrossStageSum> sums;
};

/// The placement of a module's @main as an analysis, so that a pass that has
/// checked it leaves it to the next. The first request reports why there is
/// none.
struct StepPlacementAnalysis {
  explicit StepPlacementAnalysis(mlir::Operation *module);

  mlir::FailureOr<StepPlacement> placement = mlir::failure();
};

} // namespace pp

#endif // PP_LIB_TRANSFORMS_PIPELINE_STEPPLACEMENT_H
