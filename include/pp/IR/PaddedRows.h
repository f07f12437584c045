//===- PaddedRows.h - rows padded in memory ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A tensor whose rows end in padding in memory: a pp.pad makes it and a
// pp.slice reads it, both with the mark `pp.padded`. The padding is never read,
// so its contents are undefined and it need not be written.
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

/// Whether `op` (which may be null) is a marked pad: the rows of its operand
/// are moved apart, and the gaps are not written.
bool isRowPadding(mlir::Operation *op);
/// Whether `op` (which may be null) is a marked slice: it reads such rows.
bool isRowSlice(mlir::Operation *op);
void markPadded(mlir::Operation *op);

/// Removes the marks of passes from `op`, except this one, so that equal
/// kernels are one.
void dropOtherMarks(mlir::Operation *op);

/// `value`, or its part without padding.
mlir::Value withoutRowPadding(mlir::Value value);

} // namespace pp

#endif // PP_IR_PADDEDROWS_H
