//===- LayoutRegions.h - regions with another layout ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An axis may split one kind of dimension in most of the model and another
// where that cannot be split: the batch, and experts where tokens come to them;
// the sequence, and heads where attention reads all of it. The model names the
// values at both ends of such a part, with names of dimensions (pp.dims); the
// first on the way from the inputs opens it, the next closes it. Values are
// resharded between the two layouts.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_LAYOUTREGIONS_H
#define PP_LIB_PLANNER_LAYOUTREGIONS_H

#include "NamedSeeds.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace pp {

/// The axes that split the model around such parts, and in them.
struct RegionAxes {
  /// Axes that split batch and sequence elsewhere.
  llvm::ArrayRef<mlir::StringAttr> batch, sequence;
  /// The axes, "tp" or its parts, that split a dimension of a value.
  llvm::function_ref<llvm::SmallVector<mlir::StringAttr>(mlir::Value, unsigned)>
      tensorAxes;
  /// The dimension of values that enter a part without a sequence that those
  /// which share the sequence share there; without one they all do the same.
  std::optional<unsigned> shared;
};

/// Appends barriers for the named values at the ends of such parts, and seeds
/// for parameters with the layout inside.
mlir::LogicalResult appendRegionSeeds(mlir::func::FuncOp main, MeshAttr mesh,
                                      const RegionAxes &axes,
                                      llvm::SmallVectorImpl<SeedAttr> &seeds);

/// Candidates for `shared`.
llvm::SmallVector<unsigned>
findShareable(mlir::func::FuncOp main, MeshAttr mesh, const RegionAxes &axes);

} // namespace pp

#endif // PP_LIB_PLANNER_LAYOUTREGIONS_H
