//===- Spmd.h - the reference meaning of a partitioned function -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs a function of level 2 on every device of a mesh in lockstep, one op
// after another: a collective sees all its members at once. Results are joined
// to global tensors, which compare with `evaluate` of the original function.
// Also runs a function of level 3, unless stages sum something up, for which
// each stage has its own op.
//
//===----------------------------------------------------------------------===//
#ifndef PP_REFERENCE_SPMD_H
#define PP_REFERENCE_SPMD_H

#include "pp/IR/PP.h"
#include "pp/Reference/Interpreter.h"

namespace pp::reference {

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// One coordinate per axis of `mesh`. Devices count row-major over all axes
/// except time, whose coordinates are 0.
llvm::SmallVector<int64_t> deviceCoordinates(MeshAttr mesh, int64_t device);

/// The part of `global` at `coordinates`. For a partial sharding, the first
/// member of each group holds the value, the others the identity.
mlir::FailureOr<HostTensor> shardTensor(const HostTensor &global,
                                        ShardingAttr sharding, MeshAttr mesh,
                                        llvm::ArrayRef<int64_t> coordinates,
                                        EmitError emitError);

/// Joins shards (`shardAt` gives that of any coordinates) and reduces partial
/// ones in rank order. Fails if copies that should be equal differ.
mlir::FailureOr<HostTensor> unshardTensor(
    llvm::function_ref<const HostTensor &(llvm::ArrayRef<int64_t>)> shardAt,
    ShardingAttr sharding, MeshAttr mesh, EmitError emitError);

/// Runs `function` on all devices of `mesh`. Inputs and results are global:
/// arguments are divided and results joined by their `pp.sharding` (without
/// one: replicated); `pp.unpadded_shape` inputs may come without their padding,
/// results lose it.
///
/// Over time axes a value is invariant, or has one version per micro-batch once
/// it derives from a time-sharded argument, `all_slice` or `axis_index`;
/// `pp.accumulate` makes it invariant again.
mlir::FailureOr<std::vector<HostTensor>>
evaluateSpmd(mlir::func::FuncOp function, MeshAttr mesh,
             llvm::ArrayRef<HostTensor> inputs,
             const EvaluateOptions &options = {});

} // namespace pp::reference

#endif // PP_REFERENCE_SPMD_H
