//===- PaddedRows.cpp - rows padded in memory -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/IR/PaddedRows.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;

bool pp::isRowPadding(Operation *op) {
  return isa_and_present<PadOp>(op) && op->hasAttr(attrs::kPadded);
}

bool pp::isRowSlice(Operation *op) {
  return isa_and_present<SliceOp>(op) && op->hasAttr(attrs::kPadded);
}

void pp::markPadded(Operation *op) {
  op->setAttr(attrs::kPadded, UnitAttr::get(op->getContext()));
}

void pp::dropOtherMarks(Operation *op) {
  Attribute mark = op->getDiscardableAttr(attrs::kPadded);
  op->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
  if (mark)
    op->setDiscardableAttr(attrs::kPadded, mark);
}

Value pp::withoutRowPadding(Value value) {
  Operation *op = value.getDefiningOp();
  return isRowPadding(op) ? op->getOperand(0) : value;
}
