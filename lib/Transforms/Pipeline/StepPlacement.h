//===- StepPlacement.h - stages and times of ops ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reads a level 2 step and answers, for every op, how often it runs (time
// class) and where. Changes nothing.
//
// Ops of a micro-batch belong to stages, and their values are sent where they
// are needed. Arguments, and ops that run once a step, belong to positions on
// the stage axis, each of which may have several stages. The update is computed
// on request: results request their values, and an op requests its operands at
// the positions at which it is requested. If that leads to a value that a
// position cannot compute, it gets it from a sum over positions, to which it
// adds zeros. The sum is taken at an op that lacks several operands, or one
// larger than its result, and at an addition that lacks several addends;
// otherwise at the missing operand.
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

/// How positions get a value that not all in need of it can compute alone: each
/// adds up its addends in order, or takes zeros, and then they reduce.
struct PositionSum {
  /// The addends, and the one position that adds each, so that a parameter held
  /// twice counts once. A value that is no sum is its only addend.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> addends;
  /// Those that add or need something, ascending; all get the result.
  llvm::SmallVector<int64_t> positions;
};

class StepPlacement {
public:
  /// Fails with a diagnostic when a value has no place.
  static mlir::FailureOr<StepPlacement> compute(mlir::func::FuncOp main,
                                                MeshAttr mesh);

  int64_t getNumStages() const { return positionOf.size(); }
  int64_t getNumPositions() const { return allPositions.size(); }
  /// The position of a stage.
  int64_t getPosition(int64_t stage) const { return positionOf[stage]; }
  TimeClass getTimeClass(mlir::Value value) const {
    return places.lookup(value).time;
  }
  /// Stages that can compute a value of a micro-batch, ascending.
  llvm::ArrayRef<int64_t> getStages(mlir::Value value) const {
    return places.at(value).stages;
  }
  /// Positions that can compute `value` (for an argument: that hold it) without
  /// another sum, ascending.
  llvm::ArrayRef<int64_t> getHome(mlir::Value value) const {
    return places.at(value).home;
  }
  /// Positions that return result `index`: for a parameter or state those that
  /// hold it, else one.
  llvm::ArrayRef<int64_t> getResultPositions(unsigned index) const {
    return resultPositions[index];
  }
  /// How the update gets at `value`, or null if every position that needs it
  /// computes it.
  const PositionSum *getSum(mlir::Value value) const;

private:
  using Numbers = llvm::SmallVector<int64_t>;
  /// Facts about a value.
  struct Place {
    TimeClass time = TimeClass::Invariant;
    llvm::ArrayRef<int64_t> stages; ///< of a value of a micro-batch
    llvm::ArrayRef<int64_t> home;
  };

  explicit StepPlacement(mlir::func::FuncOp main) : main(main) {}

  /// The same numbers, which stay: few lists serve all values.
  llvm::ArrayRef<int64_t> keep(llvm::ArrayRef<int64_t> numbers);
  Numbers positionsOf(llvm::ArrayRef<int64_t> stages) const;
  mlir::LogicalResult placeOps();
  bool addsAcrossStages(mlir::Operation &op) const;
  bool sharesNoStage(mlir::Value a, mlir::Value b) const;
  bool belongsToStage(mlir::Operation &op) const;
  mlir::LogicalResult classify(mlir::Operation &op);
  mlir::LogicalResult placeInMicroBatch(mlir::Operation &op);
  mlir::LogicalResult placeInStep(mlir::Operation &op);
  mlir::LogicalResult verifyOrder();
  void placeResults();
  /// Positions that can have `value`: every participant has the result of a
  /// sum.
  llvm::ArrayRef<int64_t> getReach(mlir::Value value) const {
    return sums.contains(value) ? llvm::ArrayRef<int64_t>(allPositions)
                                : getHome(value);
  }
  mlir::Value findOutOfReach();
  /// Notes that the update needs `value` at `positions`.
  void ask(mlir::Value value, llvm::ArrayRef<int64_t> positions);
  void askForAddends(mlir::Value value, PositionSum &sum);
  mlir::SmallVector<mlir::Value> findLacking(mlir::Value value) const;
  bool lacksOneOperand(mlir::Value value) const;
  bool lacksSeveralAddends(mlir::Value value) const;
  bool isComputedInStep(mlir::Value value) const;
  void collectAddends(mlir::Value value,
                      llvm::SmallVectorImpl<mlir::Value> &addends) const;

  mlir::func::FuncOp main;
  Numbers positionOf; ///< by stage
  mlir::StringAttr timeAxis;
  Numbers allStages, allPositions;
  llvm::DenseMap<mlir::Value, Place> places;
  /// The ops that do not run once for each micro-batch, in order.
  llvm::SmallVector<mlir::Operation *> stepOps;
  llvm::SmallVector<Numbers> resultPositions;
  /// The positions whose update needs a value.
  llvm::DenseMap<mlir::Value, llvm::ArrayRef<int64_t>> asked;
  llvm::DenseMap<mlir::Value, PositionSum> sums;
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
