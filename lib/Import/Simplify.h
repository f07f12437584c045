//===- Simplify.h - what an imported graph need not say ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: `main` of a model as it was converted, complete with its signature. Out:
// the same model in the form that pp's planner knows.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_IMPORT_SIMPLIFY_H
#define PP_LIB_IMPORT_SIMPLIFY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace pp::hlo {

/// Splits parameters that are stacks of layers: of `candidates`, those that are
/// read as slices of one row, each row by itself. `h.w` of two rows becomes
/// `h.0.w` and `h.1.w`.
void splitStackedParameters(mlir::func::FuncOp main,
                            const llvm::DenseSet<mlir::Value> &candidates);

/// Gives parameters whose columns are read in equal parts, such as query, key
/// and value of one product, a dimension for the parts.
void splitMergedColumns(mlir::func::FuncOp main);

/// Gives inputs and labels that only pick rows of tables the number of these as
/// pp.bound, and removes what the source does about other numbers: negative
/// ones count from the end, those behind the end yield NaN.
void boundIndices(mlir::func::FuncOp main);

/// Removes ops without readers.
void eraseUnused(mlir::func::FuncOp main);

} // namespace pp::hlo

#endif // PP_LIB_IMPORT_SIMPLIFY_H
