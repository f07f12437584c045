//===- SlotClasses.cpp - what the values of fragments are -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "SlotClasses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;

/// Whether a value of a fragment is a parameter, or made of nothing else, such
/// as what a prologue makes.
static bool isOfParameters(FragmentOp fragment, Value value) {
  if (Operation *op = value.getDefiningOp())
    return isa<LaunchOp>(op) && op->getNumOperands() &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             return isOfParameters(fragment, operand);
           });
  Value source = fragment.getOperand(cast<BlockArgument>(value).getArgNumber());
  if (auto maker = source.getDefiningOp<FragmentOp>())
    return maker.getPhase() == Phase::Prologue;
  auto argument = dyn_cast<BlockArgument>(source);
  return argument && getArgRole(fragment->getParentOfType<func::FuncOp>(),
                                argument.getArgNumber()) == Role::Param;
}

/// A gradient is held for the update, reduced where it lies; a value that is
/// added to a sum at once is none, and MicroBatchSums adds the sum's slot.
static bool isGradient(FragmentOp fragment, Value bodyValue) {
  for (OpOperand &use : bodyValue.getUses()) {
    if (auto reduce = dyn_cast<AllReduceOp>(use.getOwner());
        reduce &&
        isGradient(fragment, reduce->getResult(use.getOperandNumber())))
      return true;
    if (!isa<YieldOp>(use.getOwner()))
      continue;
    for (Operation *user :
         fragment.getResult(use.getOperandNumber()).getUsers()) {
      auto consumer = dyn_cast<FragmentOp>(user);
      if (consumer && consumer.getPhase() == Phase::Update)
        return true;
    }
  }
  return false;
}

/// A prologue makes what the step computes with instead of parameters, such as
/// their 16-bit copies; gathered are parameters of which ranks hold parts.
SlotClass pp::getSlotClass(FragmentOp fragment, Value bodyValue) {
  if (fragment.getPhase() == Phase::Prologue)
    return SlotClass::Gathered;
  if (auto gather = bodyValue.getDefiningOp<AllGatherOp>();
      gather && isOfParameters(
                    fragment, gather->getOperand(
                                  cast<OpResult>(bodyValue).getResultNumber())))
    return SlotClass::Gathered;
  if (fragment.getPhase() == Phase::Forward)
    return SlotClass::Activation;
  return isGradient(fragment, bodyValue) ? SlotClass::Gradient
                                         : SlotClass::Activation;
}
