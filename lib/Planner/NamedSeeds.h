//===- NamedSeeds.h - seeds for arguments and named values ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For every family of seeds: one seed for all layers, and the check that axes
// find something to split.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_PLANNER_NAMEDSEEDS_H
#define PP_LIB_PLANNER_NAMEDSEEDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"

namespace pp {

/// A sharding for one argument or named value.
struct NamedSharding {
  llvm::StringRef name;
  llvm::SmallVector<DimShardingAttr> dims;
  bool isBarrier = false;
};

/// True if the model says itself how an argument lies: no plan chooses that.
bool isGiven(mlir::BlockArgument argument);

/// Seeds with one pattern for all layers where nothing else matches it.
void appendSeeds(mlir::func::FuncOp main,
                 llvm::ArrayRef<NamedSharding> shardings, int64_t priority,
                 llvm::SmallVectorImpl<SeedAttr> &seeds);

/// How else than shared out a dimension may lie, which is advised where that
/// cannot be: whole, by seeds of a plan, or several times on all devices, too.
enum class Otherwise { No, Whole, Repeated };

/// A dimension that is shared out has an element for every part, at least.
/// Reports at `at`, of `what`.
mlir::LogicalResult checkSize(mlir::Operation *at, const llvm::Twine &what,
                              mlir::Type type, unsigned dim, MeshAttr mesh,
                              llvm::ArrayRef<mlir::StringAttr> axes,
                              Otherwise otherwise = Otherwise::No);
/// The same of an argument; a parameter may be whole.
mlir::LogicalResult checkSize(mlir::BlockArgument argument, unsigned dim,
                              MeshAttr mesh,
                              llvm::ArrayRef<mlir::StringAttr> axes,
                              bool mayRepeat = false);

} // namespace pp

#endif // PP_LIB_PLANNER_NAMEDSEEDS_H
