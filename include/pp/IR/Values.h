//===- Values.h - small facts about values and elements ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What verifiers, rules, passes and lowerings ask alike. The reference
// interpreter asks none of this: it shares nothing with what it judges.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_VALUES_H
#define PP_IR_VALUES_H

#include "pp/IR/PP.h"

namespace pp {

/// The type of a value of the dialect, which is always a ranked tensor.
inline mlir::RankedTensorType ranked(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// The same of its type.
inline mlir::RankedTensorType ranked(mlir::Type type) {
  return llvm::cast<mlir::RankedTensorType>(type);
}

/// Whether the dialect has values of `type`: a tensor of static shape and of
/// elements that it knows.
bool isTensor(mlir::Type type);

/// The number that every element of `value` is known to equal, if there is one:
/// a literal behind ops that only repeat or move elements. Of i1: 0 or 1.
std::optional<double> getSplat(mlir::Value value);

/// The value that leaves others unchanged under `reduction`.
mlir::TypedAttr getIdentity(Reduction reduction, mlir::Type element);

} // namespace pp

#endif // PP_IR_VALUES_H
