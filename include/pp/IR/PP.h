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
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/bit.h"

#include "pp/IR/Enums.h"
#include "pp/IR/PPDialect.h.inc"
#include "pp/IR/ShardingRule.h"
#include "pp/Schedule/Schedule.h"

namespace pp {

/// A key of a plan (pp/IR/PlanKeys.h).
enum class PlanKey : unsigned;

/// A double as an attribute parameter: it has a hash, and compares by value.
/// The verifiers refuse NaN.
struct Real {
  double value = 0.0;

  Real(double value = 0.0) : value(value) {}
  operator double() const { return value; }

  friend bool operator==(Real a, Real b) { return a.value == b.value; }
  friend llvm::hash_code hash_value(Real real) {
    return llvm::hash_value(llvm::bit_cast<uint64_t>(real.value + 0.0));
  }
};

/// An attribute of an op, an i64 or an array of i64, that names or measures the
/// dimensions of one operand or of the result. It changes when the op is built
/// again on tensors with fewer or smaller dimensions (DimensionOpInterface).
struct DimensionAttr {
  enum Kind {
    Names,        ///< numbers of dimensions, or the count of leading ones
    PerDimension, ///< one entry per dimension
    Ends,         ///< one entry per dimension: its end
  };
  static constexpr int kResult = -1;

  llvm::StringLiteral name;
  Kind kind;
  int tensor; ///< the operand's index, or kResult
};

// OpBase.td describes these.
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
