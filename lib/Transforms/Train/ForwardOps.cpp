//===- ForwardOps.cpp - the forward ops of a model, as numbered -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ForwardOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace pp;

void pp::removeDeadForwardOps(func::FuncOp main) {
  SmallVector<Operation *> all;
  for (Operation &op : main.getBody().front().without_terminator())
    all.push_back(&op);
  for (Operation *op : llvm::reverse(all))
    if (isOpTriviallyDead(op))
      op->erase();
}

static bool isEarlier(OpOperand &a, OpOperand &b) {
  if (a.getOwner() == b.getOwner())
    return a.getOperandNumber() < b.getOperandNumber();
  return a.getOwner()->isBeforeInBlock(b.getOwner());
}

void pp::separateBroadcasts(func::FuncOp main) {
  OpBuilder builder(main.getContext());
  llvm::DenseSet<Value> ofParameters, ofOthers;
  for (BlockArgument argument : main.getArguments()) {
    bool isParameter = getArgRole(main, argument.getArgNumber()) == Role::Param;
    (isParameter ? ofParameters : ofOthers).insert(argument);
  }
  for (Operation &op : main.getBody().front().without_terminator()) {
    auto dependsOn = [&](const llvm::DenseSet<Value> &set) {
      return llvm::any_of(op.getOperands(),
                          [&](Value operand) { return set.contains(operand); });
    };
    if (dependsOn(ofOthers)) {
      ofOthers.insert_range(op.getResults());
      continue;
    }
    if (!dependsOn(ofParameters))
      continue;
    ofParameters.insert_range(op.getResults());
    // A copy is visited next, and leaves all uses but one to a copy of its own.
    if (!isa<BroadcastOp>(op) || op.use_empty() || op.hasOneUse())
      continue;
    builder.setInsertionPointAfter(&op);
    Operation *copy = builder.clone(op);
    OpOperand &first = *llvm::min_element(op.getUses(), isEarlier);
    op.replaceUsesWithIf(copy->getResults(),
                         [&](OpOperand &use) { return &use != &first; });
  }
}
