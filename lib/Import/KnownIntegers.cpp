//===- KnownIntegers.cpp - computes counters and starts -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an op whose operands are integers of one known number each. Out: its
// number. So loops with a counter end, and slices by a counter begin at a known
// place.
//
//===----------------------------------------------------------------------===//
#include "Conversion.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

/// As integers of that many bits wrap.
static int64_t wrap(uint64_t value, unsigned bits) {
  return bits == 1 ? int64_t(value & 1)
                   : APInt(64, value).trunc(bits).getSExtValue();
}

static std::optional<int64_t> compareKnown(HloOp op, int64_t a, int64_t b) {
  return llvm::StringSwitch<std::optional<int64_t>>(
             op.getWord("comparison_direction"))
      .Case("EQ", a == b)
      .Case("NE", a != b)
      .Case("LT", a < b)
      .Case("LE", a <= b)
      .Case("GT", a > b)
      .Case("GE", a >= b)
      .Default(std::nullopt);
}

/// Nothing if it has no value, or is no op of two integers.
static std::optional<int64_t> computeBinary(HloOp op, int64_t a, int64_t b,
                                            bool isBool) {
  const StringRef name = op.getName();
  const bool divides = b != 0 && !(b == -1 && a == INT64_MIN);
  if (name == "compare")
    return compareKnown(op, a, b);
  if (name == "add")
    return isBool ? a | b : int64_t(uint64_t(a) + uint64_t(b));
  if (name == "multiply")
    return int64_t(uint64_t(a) * uint64_t(b));
  if (name == "subtract" && !isBool)
    return int64_t(uint64_t(a) - uint64_t(b));
  if (name == "divide" && divides)
    return a / b;
  if (name == "remainder" && divides)
    return a % b;
  if (name == "maximum")
    return std::max(a, b);
  if (name == "minimum")
    return std::min(a, b);
  if (name == "and")
    return a & b;
  if (name == "or")
    return a | b;
  if (name == "xor")
    return a ^ b;
  return std::nullopt;
}

static std::optional<int64_t> computeUnary(HloOp op, int64_t a, bool isBool) {
  const StringRef name = op.getName();
  if (name == "negate")
    return int64_t(0 - uint64_t(a));
  if (name == "not")
    return isBool ? a ^ 1 : ~a;
  if (name == "sign")
    return int64_t(a > 0) - int64_t(a < 0);
  if (name == "abs")
    return a < 0 ? int64_t(0 - uint64_t(a)) : a;
  return std::nullopt;
}

/// Whether a number means the same with and without a sign, of each operand.
static bool meansOne(HloOp op, ArrayRef<int64_t> operands) {
  return llvm::all_of(llvm::enumerate(operands), [&](auto entry) {
    return entry.value() >= 0 || !op.getOperandType(entry.index())
                                      .getElementType()
                                      .isUnsignedInteger();
  });
}

Value Conversion::fold(HloOp op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      op->getNumOperands() == 0 || op->getNumOperands() > 2)
    return {};
  SmallVector<int64_t> operands;
  for (Value operand : op->getOperands()) {
    std::optional<int64_t> number = known(map.lookup(operand));
    if (!number)
      return {};
    operands.push_back(*number);
  }
  auto type = resultType(op);
  auto element = dyn_cast<IntegerType>(type.getElementType());
  if (!element || !meansOne(op, operands))
    return {};
  const bool isBool = op.getOperandType(0).getElementType().isInteger(1);
  std::optional<int64_t> value;
  if (op.getName() == "convert" && operands.size() == 1)
    value = element.getWidth() == 1 ? int64_t(operands[0] != 0) : operands[0];
  else if (operands.size() == 1)
    value = computeUnary(op, operands[0], isBool);
  else
    value = computeBinary(op, operands[0], operands[1], isBool);
  return value ? splatInt(wrap(*value, element.getWidth()), type) : Value();
}
