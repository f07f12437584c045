//===- DivideAxes.h - axes of a module's mesh, divided ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For the passes that find where axes are to be divided. In: a module of
// level 1 with a plan and a mesh. Out: the same with other axes, and whatever
// named one that was divided names its parts. No collective is there yet.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_SHARD_DIVIDEAXES_H
#define PP_TRANSFORMS_SHARD_DIVIDEAXES_H

#include "mlir/IR/BuiltinOps.h"
#include "pp/Analysis/AxisDivisions.h"

namespace pp {

/// Divides axes of the mesh of a module of level 1, in its plan and in whatever
/// names them.
void divideAxes(mlir::ModuleOp module, const AxisDivisions &divisions);

/// Gives a module of level 1 a plan, and its mesh the axes of that. Whatever
/// names one that the plan has in parts names these.
void setPlan(mlir::ModuleOp module, PlanAttr plan);

} // namespace pp

#endif // PP_TRANSFORMS_SHARD_DIVIDEAXES_H
