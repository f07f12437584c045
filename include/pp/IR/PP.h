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

// OpBase.td says what these mean.
#define PP_TRAIT(name)                                                         \
  template <typename OpTy>                                                     \
  class name : public mlir::OpTrait::TraitBase<OpTy, name> {}
PP_TRAIT(UpdatesOperand);
PP_TRAIT(MovesElements);
PP_TRAIT(ComputesElements);
PP_TRAIT(FindsElements);
PP_TRAIT(ReadsMany);
PP_TRAIT(Transcendental);
PP_TRAIT(MadeByReaders);
PP_TRAIT(IsView);
PP_TRAIT(DropsDimensions);
PP_TRAIT(FindsLargest);
#undef PP_TRAIT

namespace gpu {
struct Question;
} // namespace gpu

} // namespace pp

#define GET_ATTRDEF_CLASSES
#include "pp/IR/PPAttributes.h.inc"

#include "pp/IR/PPInterfaces.h.inc"

#define GET_OP_CLASSES
#include "pp/IR/PPOps.h.inc"

#endif // PP_IR_PP_H
