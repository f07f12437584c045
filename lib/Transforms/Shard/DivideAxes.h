//===- DivideAxes.h - axes of a module's mesh, divided ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For propagation, which finds where axes are to be divided. In: a module of
// level 1 with a plan and a mesh. Out: the same with other axes, and whatever
// named one that was divided names its parts. No collective is there yet.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_SHARD_DIVIDEAXES_H
#define PP_LIB_TRANSFORMS_SHARD_DIVIDEAXES_H

#include "mlir/IR/BuiltinOps.h"
#include "pp/Analysis/AxisDivisions.h"

namespace pp {

/// Divides axes of the mesh of a module of level 1, in its plan and in whatever
/// names them.
void divideAxes(mlir::ModuleOp module, const AxisDivisions &divisions);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_SHARD_DIVIDEAXES_H
