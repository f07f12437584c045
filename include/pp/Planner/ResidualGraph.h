//===- ResidualGraph.h - values between forward and backward ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What one backward fragment reads of one forward fragment, as a graph for
// pp/Planner/Residuals.h. The technique (the plan's `remat`) says which ops may
// run again and what keeping a value costs.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_RESIDUALGRAPH_H
#define PP_PLANNER_RESIDUALGRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/Analysis/ValueNames.h"
#include "pp/IR/PP.h"
#include "pp/Planner/Residuals.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace pp {

/// What may be computed again to keep less.
enum class Remat {
  None,      ///< nothing
  Cheap,     ///< what costs less time than memory traffic
  Selective, ///< everything but products with parameters, and collectives
  Full,      ///< everything within a layer but reductions and exchanges
  Auto,      ///< the same; how much of it has to fit
};

/// What the plan says about single values.
struct ResidualMarks {
  ValuePatterns keep, recompute;
};

/// Marks the ops whose results are kept (pp.keep), and no others.
void markKept(mlir::func::FuncOp main, llvm::ArrayRef<mlir::Operation *> kept);

/// False for ops that change what other devices have to do.
bool canRepeat(mlir::Operation *op);

/// True for operands that memory holds whether backward reads them or not:
/// arguments of @main, and results of a prologue.
bool isHeldAnyway(mlir::Value operand);

/// The pairs of a forward fragment and a backward one that reads its results,
/// by backward fragment.
llvm::SmallVector<std::pair<FragmentOp, FragmentOp>>
findResidualPairs(mlir::func::FuncOp main);

class ResidualGraph {
public:
  ResidualGraph(FragmentOp forward, FragmentOp backward, Remat remat,
                ResidualMarks &marks);

  const std::vector<ResidualNode> &getNodes() const { return nodes; }
  int64_t getPosition() const { return FragmentOp(forward).getHolder(); }
  /// Reports a value that is to be computed again but cannot be, or that is to
  /// be kept as well.
  mlir::LogicalResult verify() const;
  /// The FLOPs of what is computed again.
  double getWork(const ResidualChoice &choice) const;
  /// The ops whose results are kept.
  llvm::SmallVector<mlir::Operation *>
  getKept(const ResidualChoice &choice) const;

private:
  mlir::Value atYield(mlir::Value operand);
  bool isArgument(mlir::Value value);
  void findVarying();
  /// Finds the values of the forward fragment that memory holds for a while:
  /// operands and results of contractions and collectives, and values with
  /// readers elsewhere.
  void findStored();
  void addContraction(mlir::Operation *product);
  /// How many computations from memory to memory lead to each value.
  void findDepths();
  /// Calls `visit` for the readers of `value`, looking through views.
  void forEachReader(mlir::Value value,
                     llvm::function_ref<void(mlir::Operation *)> visit);
  /// Whether memory has to hold `value` while something reads and writes
  /// memory, since it is read both before that and, with its result, behind it.
  bool isHeldOver(mlir::Value value);
  /// Finds the values that would be computed again from one held over, in each
  /// layer again.
  void findChained();
  /// The value in memory that `value` is a view of.
  mlir::Value baseOf(mlir::Value value);
  /// Finds those of them that the backward fragment reads from memory again.
  void findReread();
  /// True if the ops that make and read `value` belong to different layers.
  bool crossesLayers(mlir::Value value) const;
  /// Finds ops that only convert, move or combine values that other layers
  /// made: they may run again even if other layers read their results.
  void findBoundaryReaders();
  /// True if computing `value` again would mean to compute it for all layers
  /// before.
  bool isOfEveryLayer(mlir::Value value);
  /// Whether the technique allows to run the op again.
  bool isAllowed(mlir::Operation *op);
  /// Whether the plan or the model asks to compute `value` again.
  bool isToRepeat(mlir::Value value);
  /// Whether `value` may be computed again; notes a contradiction of marks.
  bool mayRepeat(mlir::Value value);
  /// What the plan or the model says about the op's result.
  bool isMarked(mlir::Operation *op, Checkpoint mark);
  int64_t priceOf(mlir::Value value) const;
  /// Adds what backward needs, and what that can be computed from, in the
  /// order of the forward fragment.
  void addNodes();
  void addNode(mlir::Value value, bool isRepeatable, bool isNeeded);

  FragmentOp forward, backward;
  const Remat remat;
  ResidualMarks &marks;
  /// Without names that tell layers apart all is one layer. What lies between
  /// the last layer and the loss is needed when backward begins, so that
  /// dropping it would not lower the peak.
  bool hasLayers = false;
  mlir::Operation *contradiction = nullptr;
  mlir::Block *body;
  YieldOp yield;
  /// Values that depend on the batch.
  llvm::DenseSet<mlir::Value> varying;
  llvm::DenseSet<mlir::Value> stored, reread, heldOver, chained;
  llvm::DenseSet<mlir::Operation *> boundaryReaders;
  llvm::DenseMap<mlir::Value, unsigned>
      depths; ///< of what depends on arguments
  llvm::MapVector<mlir::Value, unsigned> numbers;
  std::vector<ResidualNode> nodes;
};

} // namespace pp

#endif // PP_PLANNER_RESIDUALGRAPH_H
