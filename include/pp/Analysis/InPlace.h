//===- InPlace.h - results that overwrite arguments -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A result of a kernel may overwrite an argument (`pp.inplace`). Where elements
// are computed apart (pprt::KernelTuning), threads run in any order: each may
// read of that argument only the element that it overwrites itself, or what its
// row has read before it stores anything. Who forms kernels asks for it here,
// and who writes their code holds to it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_ANALYSIS_INPLACE_H
#define PP_ANALYSIS_INPLACE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/Analysis/RowLayout.h"
#include <optional>
#include <utility>

namespace pp {

/// How a kernel is divided: `pp.rows`, or what stands for it.
struct KernelRows {
  int64_t rows = 1;
  llvm::SmallVector<RowLayout> results;
};

/// Whether the kernel sums (or the like) along its rows, and so is computed row
/// by row; else it is element by element.
bool hasRowSums(mlir::func::FuncOp kernel);

/// Whether a row has the same places of two tensors, each with its layout.
bool haveSameParts(std::pair<mlir::Type, const RowLayout &> left,
                   std::pair<mlir::Type, const RowLayout &> right);

/// Whether a row computes `op`, of which it sees `layout`, once and before it
/// stores anything: a sum that is one element to it.
bool isSummedFirst(mlir::Operation *op, const RowLayout &layout);

/// The first result for which a thread may read of argument `argument` what
/// another one has overwritten, if result `index` overwrites it; nothing if
/// there is none. What the kernel's own `pp.inplace` says does not matter.
std::optional<unsigned> findLateReader(mlir::func::FuncOp kernel,
                                       const KernelRows &rows, unsigned index,
                                       int64_t argument);

} // namespace pp

#endif // PP_ANALYSIS_INPLACE_H
