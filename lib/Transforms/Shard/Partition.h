//===- Partition.h - parts of pp-partition ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Chooses where ops behind a partial value compute (LayoutWays.cpp), and
// refuses what cannot be computed over micro-batches (TimeChecks.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_PARTITION_H
#define PP_LIB_TRANSFORMS_SHARD_PARTITION_H

#include "Resharder.h"

namespace pp {

/// True if `user` runs on a stage on which `made` does not. Ops without a stage
/// run where they are needed.
bool isFarFrom(mlir::Operation *made, mlir::Operation *user);

/// Chooses where `op` computes, by its `factors`, if its result is on its way
/// to another layout, one operand is partial and has no other reader, and the
/// other operands need no communication: at the first stop of the cheapest way
/// for that operand. Reducing it first into the layout of `op` and moving the
/// result would send more than reduce_scatter, the ops, all_to_all, all_gather.
/// `formOf` says how an operand was made.
void keepOnTheWay(mlir::Operation *op, const ShardingRule &rule,
                  Layout &factors, const MeshView &mesh, Resharder &resharder,
                  llvm::function_ref<const LocalValue &(mlir::Value)> formOf);

/// Whether the value of `use`, with layout `has`, may be brought to `wants`,
/// for `cause`. Micro-batches are computed one after another, so a value may be
/// cut into them and joined by a sum only, which comes too late for each of
/// them. Anything else is refused at the reader.
mlir::LogicalResult checkTime(mlir::OpOperand &use, const Layout &has,
                              const Layout &wants, const MeshView &mesh,
                              llvm::StringRef cause);

/// The error of an op within a micro-batch that reads a sum over all of them;
/// `isSum` is true of values that derive from one.
mlir::InFlightDiagnostic
refuseSum(mlir::Operation *op, const MeshView &mesh,
          llvm::function_ref<bool(mlir::Value)> isSum,
          llvm::function_ref<const Layout &(mlir::Value)> layoutOf);

/// The error of an op that combines micro-batches by a reduction other than a
/// sum.
mlir::InFlightDiagnostic
refuseReduction(mlir::Operation *op, const MeshView &mesh, Reduction reduction,
                llvm::function_ref<const Layout &(mlir::Value)> layoutOf);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_PARTITION_H
