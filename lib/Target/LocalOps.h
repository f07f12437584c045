//===- LocalOps.h - one row's part of a graph op ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an op of a loops kernel, and how its operands and result lie over the
// rows (RowLayout). Out: the same op on the parts that one row sees. Assumes
// layouts that agree, as RowLayout makes them.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TARGET_LOCALOPS_H
#define PP_LIB_TARGET_LOCALOPS_H

#include "mlir/IR/Builders.h"
#include "pp/Analysis/RowLayout.h"

namespace pp {

/// The first element of a dimension that the current row sees, as an index.
using DigitStart = llvm::function_ref<mlir::Value(RowDigit)>;

/// Builds the part of `op` that one row computes: its result seen as `result`,
/// from the parts `parts` of its operands, seen as `operands`.
mlir::Value buildLocalOp(mlir::OpBuilder &builder, mlir::Operation *op,
                         const RowLayout &result,
                         llvm::ArrayRef<RowLayout> operands,
                         mlir::ValueRange parts, DigitStart startOf);

} // namespace pp

#endif // PP_LIB_TARGET_LOCALOPS_H
