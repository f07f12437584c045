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

/// True if the model gives a sharding for an argument; then no plan chooses
/// one.
bool isGiven(mlir::BlockArgument argument);

/// Seeds with one pattern for all layers where nothing else matches it.
void appendSeeds(mlir::func::FuncOp main,
                 llvm::ArrayRef<NamedSharding> shardings, int64_t priority,
                 llvm::SmallVectorImpl<SeedAttr> &seeds);

/// Another layout that is advised if a dimension cannot be split: whole, by
/// seeds of a plan, or repeated over the devices, too.
enum class Otherwise { No, Whole, Repeated };

/// A split dimension has at least one element for every part. Reports at `at`,
/// about `what`.
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
