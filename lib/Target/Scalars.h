//===- Scalars.h - ops on scalars -------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by kernels of processors and GPUs: an element of an op's result from
// elements of its operands. Elementwise ops are attached here, as
// ScalarOpInterface. In: a verified op of level 1. The reference interpreter is
// independent of this, and judges it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_SCALARS_H
#define PP_LIB_TARGET_SCALARS_H

#include "mlir/IR/Builders.h"
#include "pp/IR/Values.h"

namespace pp {

/// `lhs (reduction) rhs` on scalars of one compute type: a reduction of many is
/// rounded once, at the end.
mlir::Value emitCombine(mlir::OpBuilder &builder, mlir::Location loc,
                        Reduction reduction, mlir::Value lhs, mlir::Value rhs);

/// Whether argmax, top_k and select_and_scatter prefer `lhs` to `rhs`
/// regardless of their places: the larger, and NaN to any number.
mlir::Value emitIsLarger(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value lhs, mlir::Value rhs);

/// Converts a scalar between element types as pp.convert does.
mlir::Value emitConvert(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value, mlir::Type to);

/// An element of pp.random_bits, of its place along each dimension, an i64, and
/// of the op's operands.
mlir::Value emitRandomBits(mlir::OpBuilder &builder, RandomBitsOp op,
                           llvm::function_ref<mlir::Value(int64_t)> placeAlong,
                           llvm::function_ref<mlir::Value(unsigned)> operand);

/// The element of pp.axis_index, of the launch's scalars, which are i64.
mlir::Value emitAxisIndex(mlir::OpBuilder &builder, AxisIndexOp op,
                          llvm::function_ref<mlir::Value(int64_t)> scalar);

/// The type in which `element` is computed and summed: f32 for narrow floats.
mlir::Type getComputeType(mlir::Type element);

} // namespace pp

#endif // PP_LIB_TARGET_SCALARS_H
