//===- ElementRules.h - an op's element from those of its operands -*- C++ -*-//
//
// SPDX-License-Identifier: Apache-2.0
//
// The GPU aspect of every graph op. A rule gets a place in the op's result and
// asks for elements of its operands. Serial loops are right for every op;
// values that the lanes of a row compute together are looked up before a rule
// is asked (Rows.h).
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_GPU_ELEMENTRULES_H
#define PP_LIB_TARGET_GPU_ELEMENTRULES_H

#include "Elements.h"

namespace pp::gpu {

/// The question to a rule.
struct Question {
  Elements &elements;
  mlir::Operation *op;
  const Place &place;
  /// The parts of the operands that the row at hand sees; empty without rows.
  llvm::SmallVector<RowLayout> operandLayouts;

  /// Elements of an operand.
  Scalars ask(unsigned operand, const Place &place) const {
    return elements.get(op->getOperand(operand), place,
                        operandLayouts.empty() ? nullptr
                                               : &operandLayouts[operand]);
  }
  mlir::Value askOne(unsigned operand, const Place &place) const {
    return ask(operand, place).front();
  }
  /// Asks for the element of an operand of rank 0.
  mlir::Value askScalar(unsigned operand) const {
    return askOne(operand, elements.at({}, llvm::ArrayRef<Index>()));
  }
  /// The elements at the place if it is one, each the same, else for the run.
  Scalars spread(Scalars scalars) const {
    if (scalars.size() == 1)
      scalars.resize(elements.count(place), scalars.front());
    return scalars;
  }
};

/// The elements, as GpuOpInterface or ScalarOpInterface of the op has them;
/// nothing if it has neither.
std::optional<Scalars> applyRule(const Question &question);

/// Computes the scalars of a kernel at the builder's place: before code that
/// only some threads run, or that repeats.
void computeScalars(Elements &elements);

/// How several rules, and rows, combine elements.
struct Reducer {
  llvm::SmallVector<mlir::TypedAttr> start;
  /// Both sides have as many values as `start`. The left side's elements come
  /// first.
  std::function<Scalars(mlir::ValueRange left, mlir::ValueRange right)> combine;
  /// Values of one element: the element itself, and its position.
  std::function<Scalars(mlir::Value element, const Index &position)> wrap;
  /// The result from the combined values.
  std::function<mlir::Value(mlir::ValueRange)> finish;
};
/// The reducer of a reduce or an argmax.
Reducer getReducer(mlir::OpBuilder &builder, mlir::Operation *op);
/// The dimensions that they drop.
llvm::SmallVector<int64_t> getReducedDimensions(mlir::Operation *op);

} // namespace pp::gpu

#endif // PP_LIB_TARGET_GPU_ELEMENTRULES_H
