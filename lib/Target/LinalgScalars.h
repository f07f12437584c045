//===- LinalgScalars.h - elementwise ops on scalars -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For the bodies of linalg ops: what the lowerings of whole tensors and of
// single rows have in common. In: a verified op of level 1. The reference
// interpreter says the same apart from this, and judges it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_LINALGSCALARS_H
#define PP_LIB_TARGET_LINALGSCALARS_H

#include "mlir/IR/Builders.h"
#include "pp/IR/Values.h"

namespace pp {

/// Builds one element of an elementwise graph op from one element of each
/// operand. bf16 is computed in f32 and rounded at the end.
mlir::Value emitScalar(mlir::OpBuilder &builder, mlir::Operation *op,
                       mlir::ValueRange operands);

/// `lhs (reduction) rhs` on scalars of one type, which is a compute type: what
/// combines many is rounded once, in the end.
mlir::Value emitCombine(mlir::OpBuilder &builder, mlir::Location loc,
                        Reduction reduction, mlir::Value lhs, mlir::Value rhs);

/// Whether argmax, top_k and select_and_scatter take `lhs` rather than `rhs`,
/// wherever they lie: the larger, and NaN rather than any number.
mlir::Value emitIsLarger(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value lhs, mlir::Value rhs);

/// Converts a scalar between element types as pp.convert does.
mlir::Value emitConvert(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, mlir::Type to);

/// An element of pp.random_bits: all of `index` (of the global tensor,
/// row-major), `seed` and `step` are i64.
mlir::Value emitRandomBits(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value index, mlir::Value seed,
                           mlir::Value step, uint64_t stream);

/// The type in which `element` is computed and summed: f32 for bf16.
mlir::Type getComputeType(mlir::Type element);

} // namespace pp

#endif // PP_LIB_TARGET_LINALGSCALARS_H
