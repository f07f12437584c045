//===- Values.h - small facts about values and elements ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by verifiers, rules, passes and lowerings, but not by the reference
// interpreter, which shares nothing with what it judges.
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

/// The same for a type.
inline mlir::RankedTensorType ranked(mlir::Type type) {
  return llvm::cast<mlir::RankedTensorType>(type);
}

/// Whether `type` is a tensor of the dialect: of static shape and a known
/// element type.
bool isTensor(mlir::Type type);

/// Whether `element` is a float of less than 32 bits (bf16, f16): memory holds
/// it, and it is computed and summed in f32.
bool isNarrowFloat(mlir::Type element);

/// Whether every value of element type `from` is one of `to`.
bool isExact(mlir::Type from, mlir::Type to);

/// Whether `op` converts floats and loses no bits of those of type `element`:
/// they are the same behind it, and what is computed from them is rounded no
/// more than `element` itself rounds it. Who computes no less exactly may look
/// through it.
bool keepsFloats(mlir::Operation *op, mlir::Type element);

/// The number that every element of `value` is known to equal, if any: a
/// literal behind ops that only repeat or move elements, or round it. For i1: 0
/// or 1.
std::optional<double> getSplat(mlir::Value value);

/// The identity element of `reduction`.
mlir::TypedAttr getIdentity(Reduction reduction, mlir::Type element);

} // namespace pp

#endif // PP_IR_VALUES_H
