//===- KnownIntegers.cpp - computes counters and starts -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: an op whose operands are known integers: one number each, or a few. Out:
// its numbers. So loops with a counter end, slices by a counter begin at a
// known place, and the rotations of random numbers are known.
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
                                            unsigned bits) {
  const StringRef name = op.getName();
  const bool isBool = bits == 1;
  const uint64_t pattern =
      uint64_t(a) & (bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1);
  const bool shifts = b >= 0 && b < int64_t(bits);
  if (name == "shift_left")
    return shifts ? int64_t(pattern << b) : 0;
  if (name == "shift_right_logical")
    return shifts ? int64_t(pattern >> b) : 0;
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

/// Whether the op only looks at bits, which are the same with and without a
/// sign.
static bool looksAtBits(HloOp op) {
  const std::string direction = op.getWord("comparison_direction");
  return llvm::StringSwitch<bool>(op.getName())
      .Cases({"add", "subtract", "multiply", "negate", "and", "or", "xor",
              "not", "shift_left", "shift_right_logical"},
             true)
      .Case("compare", direction == "EQ" || direction == "NE")
      .Default(false);
}

/// Whether numbers mean the same with and without a sign.
static bool meanOne(HloOp op, unsigned index, ArrayRef<int64_t> elements) {
  return !op.getOperandType(index).getElementType().isUnsignedInteger() ||
         llvm::all_of(elements, [](int64_t number) { return number >= 0; });
}

/// Elements of one dimension.
static std::optional<Ints> computeSlice(HloOp op, ArrayRef<int64_t> elements) {
  FailureOr<Ints> starts = op.getIntsPer("start_indices", 1, 0);
  FailureOr<Ints> limits = op.getIntsPer("limit_indices", 1, 0);
  FailureOr<Ints> strides = op.getIntsPer("strides", 1, 1);
  if (failed(starts) || failed(limits) || failed(strides))
    return std::nullopt;
  const int64_t start = starts->front(), limit = limits->front();
  if (strides->front() != 1 || start < 0 || limit > int64_t(elements.size()) ||
      start >= limit)
    return std::nullopt;
  return Ints(elements.slice(start, limit - start));
}

std::optional<int64_t> pp::hlo::computeNumber(HloOp op,
                                              ArrayRef<int64_t> operands) {
  auto countBits = [](RankedTensorType type) {
    return type.getElementType().getIntOrFloatBitWidth();
  };
  const unsigned bits = countBits(op.getOperandType(0));
  if (op.getName() == "convert" && operands.size() == 1)
    return countBits(op.getResultType()) == 1 ? int64_t(operands[0] != 0)
                                              : operands[0];
  if (op.getName() == "select" && operands.size() == 3)
    return operands[operands[0] != 0 ? 1 : 2];
  if (operands.size() > 2)
    return std::nullopt;
  return operands.size() == 1
             ? computeUnary(op, operands[0], bits == 1)
             : computeBinary(op, operands[0], operands[1], bits);
}

std::optional<Ints> Conversion::computeKnown(HloOp op) {
  size_t count = 1;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    ArrayRef<int64_t> elements = knownElements(map.lookup(operand));
    if (elements.empty() || (!looksAtBits(op) && !meanOne(op, index, elements)))
      return std::nullopt;
    count = std::max(count, elements.size());
  }
  ArrayRef<int64_t> first = knownElements(map.lookup(op->getOperand(0)));
  if (op.getName() == "slice" && op.getOperandType(0).getRank() == 1 &&
      op->getNumOperands() == 1)
    return computeSlice(op, first);
  const unsigned bits =
      op.getResultType().getElementType().getIntOrFloatBitWidth();
  Ints result;
  for (size_t element = 0; element < count; ++element) {
    SmallVector<int64_t> operands;
    for (Value operand : op->getOperands()) {
      ArrayRef<int64_t> elements = knownElements(map.lookup(operand));
      if (elements.size() != 1 && elements.size() != count)
        return std::nullopt;
      operands.push_back(elements[elements.size() == 1 ? 0 : element]);
    }
    std::optional<int64_t> value = computeNumber(op, operands);
    if (!value)
      return std::nullopt;
    result.push_back(wrap(*value, bits));
  }
  return result;
}

Value Conversion::fold(HloOp op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      op->getNumOperands() == 0 || op->getNumOperands() > 2)
    return {};
  auto type = resultType(op);
  if (!isa<IntegerType>(type.getElementType()))
    return {};
  std::optional<Ints> values = computeKnown(op);
  if (!values)
    return {};
  if (values->size() == 1)
    return splatInt(values->front(), type);
  if (int64_t(values->size()) != type.getNumElements())
    return {};
  return constant(DenseElementsAttr::get(
      type, llvm::map_to_vector(*values, [&](int64_t value) {
        return Attribute(builder.getIntegerAttr(type.getElementType(), value));
      })));
}
