//===- PaddedRows.h - rows that are longer in memory ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A tensor whose rows end in padding that is in memory only: a pp.pad makes it
// and a pp.slice reads it, both with the mark `pp.padded`. What the padding
// holds is undefined, for nobody reads it; so nobody has to write it either.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_PADDEDROWS_H
#define PP_IR_PADDEDROWS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace pp {

namespace attrs {
inline constexpr llvm::StringLiteral kPadded = "pp.padded";
} // namespace attrs

/// Whether `op` (which may be null) is a marked pad: its rows, those of its
/// operand, are further apart, and what is between them is not written.
bool isRowPadding(mlir::Operation *op);
/// Whether `op` (which may be null) is a marked slice: it reads such rows.
bool isRowSlice(mlir::Operation *op);
void markPadded(mlir::Operation *op);

/// Leaves this mark alone of those that passes hang on ops, so that equal
/// kernels are one.
void dropOtherMarks(mlir::Operation *op);

/// `value`, or what of it is not padding.
mlir::Value withoutRowPadding(mlir::Value value);

} // namespace pp

#endif // PP_IR_PADDEDROWS_H
