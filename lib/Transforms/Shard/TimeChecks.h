//===- TimeChecks.h - what cannot be done over micro-batches ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Micro-batches are computed one after another, so that a value may be cut into
// them and never joined but by a sum, which comes too late for each of them.
// What asks for more is refused where it reads the value.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_TIMECHECKS_H
#define PP_LIB_TRANSFORMS_SHARD_TIMECHECKS_H

#include "Resharder.h"

namespace pp {

/// Whether the value of `use`, which lies as `has`, may be brought to `wants`,
/// for `cause`.
mlir::LogicalResult checkTime(mlir::OpOperand &use, const Layout &has,
                              const Layout &wants, const MeshView &mesh,
                              llvm::StringRef cause);

/// The error of an op within a micro-batch that reads a sum over all of them;
/// `isSum` is true of values that derive from one.
mlir::InFlightDiagnostic
refuseSum(mlir::Operation *op, const MeshView &mesh,
          llvm::function_ref<bool(mlir::Value)> isSum,
          llvm::function_ref<const Layout &(mlir::Value)> layoutOf);

/// The error of an op that combines micro-batches by another reduction than a
/// sum.
mlir::InFlightDiagnostic
refuseReduction(mlir::Operation *op, const MeshView &mesh, Reduction reduction,
                llvm::function_ref<const Layout &(mlir::Value)> layoutOf);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_TIMECHECKS_H
