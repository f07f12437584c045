//===- KernelBody.cpp - bodies of kernels, narrow floats as f32
//------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "KernelBody.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Model.h"
#include "pp/IR/PaddedRows.h"
#include "pp/IR/Values.h"
#include <cmath>

using namespace mlir;
using namespace pp;

static Type elementOf(Value value) { return ranked(value).getElementType(); }

static bool isNarrow(Value value) { return isNarrowFloat(elementOf(value)); }

//===----------------------------------------------------------------------===//
// ExactOps
//===----------------------------------------------------------------------===//

/// Whether rounding may change the result of the op. Rounding leads to zero if
/// two operands round alike, but not across it, nor from a number that is far
/// from overflowing to an infinity.
static bool chooses(Operation *op) {
  if (op->hasTrait<FindsLargest>())
    return true;
  auto isFloat = [](Value value) { return isa<FloatType>(elementOf(value)); };
  if (auto convert = dyn_cast<ConvertOp>(op))
    return isFloat(convert.getOperand()) && !isFloat(convert.getResult()) &&
           !elementOf(convert.getResult()).isInteger(1);
  auto compare = dyn_cast<CompareOp>(op);
  const bool isOrder = compare && compare.getDirection() != Direction::EQ &&
                       compare.getDirection() != Direction::NE;
  auto isLimit = [&](Value value) {
    std::optional<double> number = getSplat(value);
    return number && ((*number == 0 && isOrder) || !std::isfinite(*number));
  };
  return compare && isFloat(compare.getLhs()) &&
         compare.getLhs() != compare.getRhs() && !isLimit(compare.getLhs()) &&
         !isLimit(compare.getRhs());
}

ExactOps::ExactOps(func::FuncOp function, bool isStrict) : isStrict(isStrict) {
  if (isStrict)
    return;
  function.walk([&](Operation *op) {
    if (chooses(op))
      for (Value operand : op->getOperands())
        add(operand);
  });
}

/// Adds everything that leads to the value, across fragments.
void ExactOps::add(Value value) {
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      auto fragment = dyn_cast<FragmentOp>(argument.getOwner()->getParentOp());
      if (fragment)
        work.push_back(fragment->getOperand(argument.getArgNumber()));
      continue;
    }
    Operation *op = next.getDefiningOp();
    if (auto fragment = dyn_cast<FragmentOp>(op)) {
      Operation *end = fragment.getBody().front().getTerminator();
      Value inside = end->getOperand(cast<OpResult>(next).getResultNumber());
      if (!inside.getDefiningOp() || !ops.contains(inside.getDefiningOp()))
        work.push_back(inside);
      continue;
    }
    if (ops.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
}

DenseSet<Value> ExactOps::findWide(Block &block) const {
  DenseSet<Value> wide;
  for (Operation &op : block) {
    if (op.getNumResults() != 1 || !isKernelOp(&op) ||
        !isNarrow(op.getResult(0)) || contains(&op) || isRowPadding(&op))
      continue;
    if (op.hasTrait<ComputesElements>() ||
        (op.hasTrait<MovesElements>() &&
         llvm::any_of(op.getOperands(),
                      [&](Value operand) { return wide.contains(operand); })))
      wide.insert(op.getResult(0));
  }
  return wide;
}

//===----------------------------------------------------------------------===//
// KernelBody
//===----------------------------------------------------------------------===//

void KernelBody::addArgument(Value value, Value argument) {
  (value.getType() == argument.getType() ? narrow : wide)[value] = argument;
}

Value KernelBody::convert(Value value, Type element) {
  return ConvertOp::create(builder, value.getLoc(),
                           ranked(value).clone(element), value);
}

/// Before it is repeated, and for each reader: who computes with it reads
/// memory himself.
Value KernelBody::widen(Value narrow) {
  Type f32 = builder.getF32Type();
  if (auto constant = narrow.getDefiningOp<ConstantOp>()) {
    auto values = cast<DenseElementsAttr>(constant.getValue());
    auto wide = values.mapValues(f32, [&](const APFloat &value) {
      return APFloat(float(value.convertToDouble())).bitcastToAPInt();
    });
    return ConstantOp::create(builder, narrow.getLoc(),
                              ranked(narrow).clone(f32), wide);
  }
  if (auto broadcast = narrow.getDefiningOp<BroadcastOp>()) {
    Operation *copy = broadcast->clone();
    copy->setOperand(0, widen(broadcast.getOperand()));
    copy->getResult(0).setType(ranked(narrow).clone(f32));
    builder.insert(copy);
    return copy->getResult(0);
  }
  return convert(narrow, f32);
}

Value KernelBody::getNarrow(Value value) {
  Value &copy = narrow[value];
  if (!copy)
    copy = convert(wide.lookup(value), elementOf(value));
  return copy;
}

Value KernelBody::getWide(Value value) {
  Value copy = wide.lookup(value);
  return copy ? copy : widen(narrow.lookup(value));
}

Value KernelBody::get(Value value, bool isWide) {
  return isWide ? getWide(value) : getNarrow(value);
}

bool KernelBody::computesWide(Operation *op) const {
  // Padding of rows concerns memory, which has narrow floats.
  if (exact.contains(op) || isRowPadding(op))
    return false;
  auto isWide = [&](Value value) { return wide.contains(value); };
  if (isa<CompareOp, ConvertOp>(op))
    return llvm::any_of(op->getOperands(), isWide);
  return isNarrow(op->getResult(0)) &&
         (op->hasTrait<ComputesElements>() ||
          (op->hasTrait<MovesElements>() &&
           llvm::any_of(op->getOperands(), isWide)));
}

void KernelBody::add(Operation *op) {
  for (Value operand : op->getOperands())
    if (!narrow.contains(operand) && !wide.contains(operand))
      add(operand.getDefiningOp());
  Value result = op->getResult(0);
  hasExact |= exact.contains(op);
  const bool isWide = computesWide(op);
  // A convert of the model to a value that stays wide.
  if (isWide && isa<ConvertOp>(op) && elementOf(result).isF32()) {
    narrow[result] = getWide(op->getOperand(0));
    return;
  }
  Operation *copy = op->clone();
  for (OpOperand &operand : copy->getOpOperands())
    operand.set(isWide && isNarrow(operand.get()) ? getWide(operand.get())
                                                  : getNarrow(operand.get()));
  dropOtherMarks(copy);
  builder.insert(copy);
  Value made = copy->getResult(0);
  if (isWide && isNarrow(result) && !isa<ConvertOp>(op)) {
    made.setType(ranked(result).clone(builder.getF32Type()));
    wide[result] = made;
  } else {
    narrow[result] = made;
  }
}
