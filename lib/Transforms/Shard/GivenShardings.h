//===- GivenShardings.h - shardings of a model, in micro-batches *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_GIVENSHARDINGS_H
#define PP_LIB_TRANSFORMS_SHARD_GIVENSHARDINGS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/PP.h"

namespace pp {

/// A model says how a batch is split over devices. The time axis of `mesh`
/// splits it before: in shardings of inputs, labels and values, dimensions of
/// the batch get it as their first axis, unless the sharding names it itself.
void splitByTime(mlir::func::FuncOp main, MeshAttr mesh);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_GIVENSHARDINGS_H
