//===- PP.h - the pp dialect ------------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The dialect, its attributes, ops and op interfaces.
//
//===----------------------------------------------------------------------===//
#ifndef PP_IR_PP_H
#define PP_IR_PP_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallBitVector.h"

#include "pp/IR/Dimensions.h"
#include "pp/IR/Enums.h"
#include "pp/IR/PPDialect.h.inc"
#include "pp/IR/Real.h"
#include "pp/IR/ShardingRule.h"

namespace pp {

/// A key of a plan (pp/IR/PlanKeys.h).
enum class PlanKey : unsigned;

/// The result is operand 0 with other values added to it or inserted: an
/// element reads that operand at its own place alone.
template <typename OpTy>
class UpdatesOperand : public mlir::OpTrait::TraitBase<OpTy, UpdatesOperand> {};

// OpBase.td says what these mean.
template <typename OpTy>
class MovesElements : public mlir::OpTrait::TraitBase<OpTy, MovesElements> {};
template <typename OpTy>
class ComputesElements
    : public mlir::OpTrait::TraitBase<OpTy, ComputesElements> {};
template <typename OpTy>
class FindsElements : public mlir::OpTrait::TraitBase<OpTy, FindsElements> {};
template <typename OpTy>
class ReadsMany : public mlir::OpTrait::TraitBase<OpTy, ReadsMany> {};
template <typename OpTy>
class Transcendental : public mlir::OpTrait::TraitBase<OpTy, Transcendental> {};

} // namespace pp

#define GET_ATTRDEF_CLASSES
#include "pp/IR/PPAttributes.h.inc"

#include "pp/IR/PPInterfaces.h.inc"

#define GET_OP_CLASSES
#include "pp/IR/PPOps.h.inc"

#endif // PP_IR_PP_H
