//===- TensorSeeds.h - seeds by analysis ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The seeds of a plan that gives none, for data and tensor parallelism, found
// from how the graph contracts and not from the names of parameters. In: a
// model at level 1.
//
//===----------------------------------------------------------------------===//
#ifndef PP_PLANNER_TENSORSEEDS_H
#define PP_PLANNER_TENSORSEEDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"

namespace pp {

/// Seeds for a mesh with axes "mb", "dp" (inputs and labels, priority 0) and
/// "tp" (parameters, priority 1), as far as the mesh has them.
mlir::FailureOr<llvm::SmallVector<SeedAttr>> findSeeds(mlir::func::FuncOp main,
                                                       MeshAttr mesh);

} // namespace pp

#endif // PP_PLANNER_TENSORSEEDS_H
