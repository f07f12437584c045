//===- DivideAxes.h - axes of a module's mesh, divided ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For the passes that divide axes. In: a module of level 1 with a plan and a
// mesh, without collectives. Out: the same with divided axes; all attributes
// name the parts.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_SHARD_DIVIDEAXES_H
#define PP_TRANSFORMS_SHARD_DIVIDEAXES_H

#include "mlir/IR/BuiltinOps.h"
#include "pp/Analysis/AxisDivisions.h"

namespace pp {

/// Divides axes of the mesh of a module of level 1, in its plan and in all
/// attributes.
void divideAxes(mlir::ModuleOp module, const AxisDivisions &divisions);

/// Gives a module of level 1 a plan, and its mesh the plan's axes. Attributes
/// that name an axis which the plan has in parts name the parts.
void setPlan(mlir::ModuleOp module, PlanAttr plan);

} // namespace pp

#endif // PP_TRANSFORMS_SHARD_DIVIDEAXES_H
