//===- RowLayout.cpp - the part of tensors that a row sees ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For all ops but reshape the sharding rule says which result dimension indexes
// which operand dimension; a reshape moves digits between groups of dimensions
// of equal size.
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/RowLayout.h"
#include "pp/IR/PP.h"
#include "pp/IR/PaddedRows.h"

using namespace mlir;
using namespace pp;

RowLayout pp::wholeLayout(RankedTensorType type) {
  RowLayout layout;
  for (int64_t size : type.getShape())
    layout.push_back(RowDigit::whole(size));
  return layout;
}

bool pp::isWholeLayout(const RowLayout &layout) {
  return llvm::all_of(layout, [](RowDigit digit) { return digit.isWhole(); });
}

int64_t pp::countElements(const RowLayout &layout) {
  int64_t count = 1;
  for (RowDigit digit : layout)
    count *= digit.tile;
  return count;
}

bool pp::coversRows(const RowLayout &layout, int64_t rows) {
  SmallVector<RowDigit> digits;
  for (RowDigit digit : layout)
    if (!digit.isWhole())
      digits.push_back(digit);
  llvm::sort(digits,
             [](RowDigit a, RowDigit b) { return a.divisor < b.divisor; });
  int64_t next = 1;
  for (RowDigit digit : digits) {
    if (digit.divisor != next)
      return false;
    next *= digit.modulus;
  }
  return next == rows;
}

DenseI64ArrayAttr pp::encodeRowLayout(MLIRContext *context,
                                      const RowLayout &layout) {
  SmallVector<int64_t> flat;
  for (RowDigit digit : layout)
    flat.append({digit.divisor, digit.modulus, digit.tile});
  return DenseI64ArrayAttr::get(context, flat);
}

std::optional<RowLayout> pp::decodeRowLayout(DenseI64ArrayAttr flat,
                                             RankedTensorType type) {
  ArrayRef<int64_t> values = flat.asArrayRef();
  if (static_cast<int64_t>(values.size()) != 3 * type.getRank())
    return std::nullopt;
  RowLayout layout;
  for (int64_t size : type.getShape()) {
    RowDigit digit{values[0], values[1], values[2]};
    values = values.drop_front(3);
    if (digit.divisor < 1 || digit.modulus < 1 ||
        digit.modulus * digit.tile != size)
      return std::nullopt;
    layout.push_back(digit);
  }
  return layout;
}

RankedTensorType pp::localType(RankedTensorType type, const RowLayout &layout) {
  SmallVector<int64_t> shape;
  for (RowDigit digit : layout)
    if (!digit.isDropped())
      shape.push_back(digit.tile);
  return RankedTensorType::get(shape, type.getElementType());
}

namespace {

constexpr int64_t kNone = -1;

/// The result dimension that indexes each operand dimension; without one, the
/// whole dimension is needed. `whole` result dimensions cannot be divided.
struct DimMap {
  SmallVector<SmallVector<int64_t>> operands;
  llvm::SmallBitVector whole;
};

/// For factors that are exactly one result dimension, and no part of an
/// operand's: that dimension; kNone for all others. A row knows no global index
/// of its operands; of an op without operands, such as a literal, any row may
/// have a part.
SmallVector<int64_t> findDivided(const ShardingRule &rule) {
  SmallVector<int64_t> resultDims(rule.factors.size(), kNone);
  const bool isSource =
      llvm::all_of(rule.operands, [](const TensorFactors &operand) {
        return operand.empty();
      });
  for (auto [dim, factors] : llvm::enumerate(rule.results.front()))
    if (factors.size() == 1 &&
        (isSource ||
         rule.factors[factors.front()].kind == FactorKind::Parallel))
      resultDims[factors.front()] = dim;
  for (const TensorFactors &operand : rule.operands)
    for (const DimFactors &factors : operand)
      for (int64_t factor : factors)
        if (factors.size() > 1 || rule.factors[factor].needsLocalize)
          resultDims[factor] = kNone;
  return resultDims;
}

/// Nothing for an op without a rule.
std::optional<DimMap> buildDimMap(Operation *op) {
  auto shardable = dyn_cast<ShardingOpInterface>(op);
  if (!shardable)
    return std::nullopt;
  const ShardingRule rule = shardable.getShardingRule();
  const SmallVector<int64_t> resultDims = findDivided(rule);
  DimMap map;
  for (const TensorFactors &operand : rule.operands) {
    SmallVector<int64_t> &dims = map.operands.emplace_back();
    for (const DimFactors &factors : operand)
      dims.push_back(factors.empty() ? kNone : resultDims[factors.front()]);
  }
  const TensorFactors &result = rule.results.front();
  map.whole.resize(result.size());
  for (auto [dim, factors] : llvm::enumerate(result))
    if (factors.empty() || resultDims[factors.front()] == kNone)
      map.whole.set(dim);
  return map;
}

//===----------------------------------------------------------------------===//
// Reshape
//===----------------------------------------------------------------------===//

/// The leading digits of a group, merged: the row's part of `modulus` steps of
/// `divisor`; the rest is whole.
struct MergedDigits {
  int64_t divisor = 1, modulus = 1;
};

std::optional<MergedDigits> mergeDigits(ArrayRef<RowDigit> digits) {
  MergedDigits merged;
  bool isOver = false;
  for (RowDigit digit : digits) {
    if (digit.isWhole()) {
      isOver |= digit.tile != 1;
      continue;
    }
    bool isNext =
        merged.modulus == 1 || merged.divisor == digit.divisor * digit.modulus;
    if (isOver || !isNext)
      return std::nullopt;
    merged.divisor = digit.divisor;
    merged.modulus *= digit.modulus;
    isOver = digit.tile != 1;
  }
  return merged;
}

bool splitDigits(MergedDigits merged, ArrayRef<int64_t> sizes,
                 MutableArrayRef<RowDigit> digits) {
  int64_t left = merged.modulus;
  for (auto [size, digit] : llvm::zip_equal(sizes, digits)) {
    if (left == 1 || size == 1) {
      digit = RowDigit::whole(size);
    } else if (left % size == 0) {
      left /= size;
      digit = {merged.divisor * left, size, 1};
    } else if (size % left == 0) {
      digit = {merged.divisor, left, size / left};
      left = 1;
    } else {
      return false;
    }
  }
  return left == 1;
}

/// Carries a layout of a tensor of shape `from` to the same elements as `to`.
std::optional<RowLayout> carryThroughReshape(ArrayRef<int64_t> from,
                                             const RowLayout &layout,
                                             ArrayRef<int64_t> to) {
  RowLayout result(to.size());
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    // The smallest group of dimensions with equally many elements on both
    // sides.
    size_t firstFrom = i, firstTo = j;
    int64_t left = i < from.size() ? from[i++] : 1,
            right = j < to.size() ? to[j++] : 1;
    while (left != right) {
      if (left < right && i < from.size())
        left *= from[i++];
      else if (right < left && j < to.size())
        right *= to[j++];
      else
        return std::nullopt; // a size of zero
    }
    auto merged = mergeDigits(ArrayRef(layout).slice(firstFrom, i - firstFrom));
    if (i - firstFrom == 1 && j - firstTo == 1) {
      result[firstTo] = layout[firstFrom];
      continue;
    }
    if (!merged ||
        !splitDigits(*merged, to.slice(firstTo, j - firstTo),
                     MutableArrayRef(result).slice(firstTo, j - firstTo)))
      return std::nullopt;
  }
  return result;
}

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

} // namespace

std::optional<SmallVector<RowLayout>>
pp::operandLayouts(Operation *op, const RowLayout &result) {
  // One row can compute everything, whatever the op.
  if (isWholeLayout(result))
    return llvm::map_to_vector(op->getOperandTypes(), [](Type type) {
      return wholeLayout(cast<RankedTensorType>(type));
    });
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    auto layout = carryThroughReshape(reshape.getType().getShape(), result,
                                      shapeOf(reshape.getOperand()));
    if (!layout)
      return std::nullopt;
    return SmallVector<RowLayout>{*layout};
  }
  std::optional<DimMap> map = buildDimMap(op);
  if (!map)
    return std::nullopt;
  for (unsigned dim : map->whole.set_bits())
    if (!result[dim].isWhole())
      return std::nullopt;
  SmallVector<RowLayout> layouts;
  for (auto [operand, dims] :
       llvm::zip_equal(op->getOperands(), map->operands)) {
    RowLayout layout = wholeLayout(cast<RankedTensorType>(operand.getType()));
    for (auto [dim, target] : llvm::enumerate(dims))
      if (target != kNone)
        layout[dim] = result[target];
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

std::optional<PartialLayout> pp::resultLayout(Operation *op, unsigned index,
                                              const RowLayout &operand) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  PartialLayout result(type.getRank());
  if (isa<ReshapeOp>(op)) {
    if (isWholeLayout(operand)) {
      llvm::copy(wholeLayout(type), result.begin());
      return result;
    }
    auto layout = carryThroughReshape(shapeOf(op->getOperand(0)), operand,
                                      type.getShape());
    if (!layout)
      return std::nullopt;
    llvm::copy(*layout, result.begin());
    return result;
  }
  std::optional<DimMap> map = buildDimMap(op);
  if (!map)
    return std::nullopt;
  for (unsigned dim : map->whole.set_bits())
    result[dim] = RowDigit::whole(type.getDimSize(dim));
  for (auto [digit, target] : llvm::zip_equal(operand, map->operands[index])) {
    if (target == kNone && !digit.isWhole())
      return std::nullopt;
    if (target == kNone)
      continue;
    if (result[target] && !(*result[target] == digit))
      return std::nullopt;
    result[target] = digit;
  }
  return result;
}

bool pp::readsSamePlace(Operation *op, unsigned index) {
  // By its indices; its result overwrites an argument only if rows are as far
  // apart there.
  if (index == 0 && (isRowPadding(op) || isRowSlice(op)))
    return true;
  ArrayRef<int64_t> from = shapeOf(op->getOperand(index)),
                    to = shapeOf(op->getResult(0));
  if (ShapedType::getNumElements(from) != ShapedType::getNumElements(to))
    return false;
  // One element has one place, whatever its shape.
  if (isa<ReshapeOp>(op) || ShapedType::getNumElements(to) == 1)
    return true;
  // The operand that others are added to or inserted into.
  if (op->hasTrait<UpdatesOperand>() && index == 0)
    return true;
  std::optional<DimMap> map = buildDimMap(op);
  if (!map)
    return false;
  int64_t last = kNone; // dimensions of one element move nothing
  for (auto [size, target] : llvm::zip_equal(from, map->operands[index])) {
    if (size == 1)
      continue;
    if (target <= last || to[target] != size)
      return false;
    last = target;
  }
  return true;
}
