//===- Aspects.h - registers the op interfaces ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The op interfaces are external models, one file per aspect. A tool registers
// those it uses along with the dialect.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_ASPECTS_H
#define PP_IR_ASPECTS_H

#include "mlir/IR/DialectRegistry.h"

namespace pp {

/// Attaches GradientOpInterface to every graph op (Gradients*.cpp).
void registerGradientModels(mlir::DialectRegistry &registry);
/// Attaches ShardingOpInterface to every graph op (ShardingRules*.cpp).
void registerShardingModels(mlir::DialectRegistry &registry);
/// Attaches CostOpInterface to every graph op (Costs.cpp).
void registerCostModels(mlir::DialectRegistry &registry);
/// Attaches ScalarOpInterface to every elementwise op
/// (lib/Target/Scalars.cpp).
void registerScalarModels(mlir::DialectRegistry &registry);
/// Attaches LinalgOpInterface to every other graph op, and the interfaces that
/// its lowering uses: ScalarOpInterface, and ShardingOpInterface, which tells
/// rows apart (lib/Target/LinalgLowering*.cpp).
void registerLinalgModels(mlir::DialectRegistry &registry);
/// Attaches GpuOpInterface in the same way (lib/Target/Gpu/ElementRules*.cpp).
void registerGpuModels(mlir::DialectRegistry &registry);

/// Registers the dialects of a model and all of the above, for tools that
/// compile models to artifacts (lib/Target/LinalgLowering.cpp).
void registerForCompilation(mlir::DialectRegistry &registry);

} // namespace pp

#endif // PP_IR_ASPECTS_H
