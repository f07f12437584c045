//===- LayoutRegions.h - parts of the model that lie otherwise --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An axis may split one kind of dimension in most of the model and another
// where that cannot be split: the batch, and experts where tokens come to them;
// the sequence, and heads where attention reads all of it. The model names the
// values at both ends of such a part, with what their dimensions are (pp.dims);
// the first on the way from the inputs opens it, the next closes it. Between
// the two layouts the values travel.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_LAYOUTREGIONS_H
#define PP_LIB_PLANNER_LAYOUTREGIONS_H

#include "NamedSeeds.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace pp {

/// Appends barriers for the named values at the ends of such parts, and
/// seeds for parameters that lie as the part does. `batch` and `sequence` are
/// the axes that split those elsewhere; `isTensorSplit` says whether "tp"
/// splits a dimension of a value.
mlir::LogicalResult
appendRegionSeeds(mlir::func::FuncOp main, MeshAttr mesh,
                  llvm::ArrayRef<mlir::StringAttr> batch,
                  llvm::ArrayRef<mlir::StringAttr> sequence,
                  llvm::function_ref<bool(mlir::Value, unsigned)> isTensorSplit,
                  llvm::SmallVectorImpl<SeedAttr> &seeds);

} // namespace pp

#endif // PP_LIB_PLANNER_LAYOUTREGIONS_H
