//===- InPlace.h - results that overwrite arguments -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A result of a kernel may overwrite an argument (`pp.inplace`). Where elements
// are computed separately (pprt::KernelTuning), threads run in any order: each
// may read only the element of that argument that it overwrites itself, or what
// its row has read before it stores anything. Passes that form kernels ask
// here, and code generation relies on it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_INPLACE_H
#define PP_ANALYSIS_INPLACE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/Analysis/RowLayout.h"
#include <optional>
#include <utility>

namespace pp {

/// How a kernel is divided: `pp.rows` or its default.
struct KernelRows {
  int64_t rows = 1;
  llvm::SmallVector<RowLayout> results;
};

/// Whether the kernel reduces along its rows, and so is computed row by row;
/// otherwise it is computed element by element.
bool hasRowSums(mlir::func::FuncOp kernel);

/// Whether a row has the same elements of two tensors, each with its layout.
bool haveSameParts(std::pair<mlir::Type, const RowLayout &> left,
                   std::pair<mlir::Type, const RowLayout &> right);

/// Whether a row computes `op`, which it sees as `layout`, once and before it
/// stores anything: a reduction to one element.
bool isSummedFirst(mlir::Operation *op, const RowLayout &layout);

/// The first result for which a thread may read an element of argument
/// `argument` that another thread has overwritten, if result `index` overwrites
/// it; nothing if there is none. Ignores the kernel's own `pp.inplace`.
std::optional<unsigned> findLateReader(mlir::func::FuncOp kernel,
                                       const KernelRows &rows, unsigned index,
                                       int64_t argument);

} // namespace pp

#endif // PP_ANALYSIS_INPLACE_H
