//===- RowLayout.cpp - which part of a tensor one row of a kernel sees ----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For all ops but reshape a table says which result dimension indexes which
// operand dimension; a reshape moves digits between groups of dimensions of
// equal size.
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/RowLayout.h"
#include "pp/IR/PP.h"
#include "pp/IR/PaddedRows.h"
#include "llvm/ADT/TypeSwitch.h"

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

/// Which result dimension indexes each operand dimension. Where none does the
/// whole dimension is needed; `whole` result dimensions cannot be divided.
struct DimMap {
  SmallVector<SmallVector<int64_t>> operands;
  llvm::SmallBitVector whole;
  /// Operand 0 is what others are added to or inserted into: of it alone, an
  /// element needs what lies at its own place.
  bool hasBase = false;
};

int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}
int64_t sizeOf(Value value, int64_t dim) {
  return cast<RankedTensorType>(value.getType()).getDimSize(dim);
}

struct DimMapBuilder {
  Operation *op;
  DimMap map;

  explicit DimMapBuilder(Operation *op) : op(op) {
    map.whole.resize(rankOf(op->getResult(0)));
    for (Value operand : op->getOperands())
      map.operands.emplace_back(rankOf(operand), kNone);
  }
  void identity(unsigned operand) {
    for (auto [dim, target] : llvm::enumerate(map.operands[operand]))
      target = dim;
  }
  /// Result dimension `dim` of the identity-mapped operands cannot be divided.
  void keepWhole(int64_t dim) {
    map.whole.set(dim);
    for (auto &dims : map.operands)
      if (dim < static_cast<int64_t>(dims.size()))
        dims[dim] = kNone;
  }
  void dropping(ArrayRef<int64_t> dropped) {
    int64_t next = 0;
    for (auto [dim, target] : llvm::enumerate(map.operands[0]))
      target = llvm::is_contained(dropped, static_cast<int64_t>(dim)) ? kNone
                                                                      : next++;
  }
  void gather(GatherOp gather);
  void scatterAdd(ScatterAddOp scatter);
  void dot(DotGeneralOp dot);
  void convolution(ConvolutionOp convolution);
  void windows(ArrayRef<int64_t> dims);
  void boxes(ArrayRef<unsigned> tensors);
};

void DimMapBuilder::gather(GatherOp gather) {
  int64_t batch = gather.getBatchDims(),
          indexRank = rankOf(gather.getIndices());
  for (int64_t dim = 0; dim < batch; ++dim)
    map.operands[0][dim] = dim;
  for (int64_t dim = batch + 1; dim < rankOf(gather.getOperand()); ++dim)
    map.operands[0][dim] = indexRank + dim - batch - 1;
  identity(1);
}

void DimMapBuilder::scatterAdd(ScatterAddOp scatter) {
  int64_t batch = scatter.getBatchDims(),
          indexRank = rankOf(scatter.getIndices());
  map.hasBase = true;
  identity(0);
  for (int64_t dim = 0; dim < batch; ++dim)
    map.operands[1][dim] = map.operands[2][dim] = dim;
  for (int64_t dim = indexRank; dim < rankOf(scatter.getUpdates()); ++dim)
    map.operands[2][dim] = batch + 1 + dim - indexRank;
  map.operands[0][batch] = kNone;
  map.whole.set(batch);
}

void DimMapBuilder::dot(DotGeneralOp dot) {
  int64_t next = 0;
  for (auto [left, right] :
       llvm::zip_equal(dot.getLhsBatch(), dot.getRhsBatch()))
    map.operands[0][left] = map.operands[1][right] = next++;
  for (int64_t dim : dot.getLhsFree())
    map.operands[0][dim] = next++;
  for (int64_t dim : dot.getRhsFree())
    map.operands[1][dim] = next++;
}

void DimMapBuilder::convolution(ConvolutionOp convolution) {
  SmallVector<int64_t> plain = convolution.getResultPlain();
  size_t next = 0;
  for (auto [left, right] :
       llvm::zip_equal(convolution.getLhsBatch(), convolution.getRhsBatch()))
    map.operands[0][left] = map.operands[1][right] = plain[next++];
  for (int64_t dim : convolution.getLhsFree())
    map.operands[0][dim] = plain[next++];
  for (int64_t dim : convolution.getRhsFree())
    map.operands[1][dim] = plain[next++];
  for (int64_t dim : convolution.getResultWindow())
    map.whole.set(dim);
}

/// Windows slide over `dims` of tensors of one rank.
void DimMapBuilder::windows(ArrayRef<int64_t> dims) {
  for (unsigned tensor = 0; tensor < map.operands.size(); ++tensor)
    identity(tensor);
  for (int64_t dim : dims)
    keepWhole(dim);
}

/// `tensors` and the result have one rank; dimensions in which their sizes
/// differ hold a box and cannot be divided.
void DimMapBuilder::boxes(ArrayRef<unsigned> tensors) {
  for (unsigned tensor : tensors)
    identity(tensor);
  for (int64_t dim = 0; dim < rankOf(op->getResult(0)); ++dim)
    for (unsigned tensor : tensors)
      if (sizeOf(op->getOperand(tensor), dim) != sizeOf(op->getResult(0), dim))
        keepWhole(dim);
}

DimMap buildDimMap(Operation *op) {
  DimMapBuilder b(op);
  llvm::TypeSwitch<Operation *>(op)
      .Case<BroadcastOp>([&](BroadcastOp broadcast) {
        b.map.operands[0].assign(broadcast.getDimensions().begin(),
                                 broadcast.getDimensions().end());
      })
      .Case<TransposeOp>([&](TransposeOp transpose) {
        for (auto [dim, source] : llvm::enumerate(transpose.getPermutation()))
          b.map.operands[0][source] = dim;
      })
      .Case<ReduceOp>(
          [&](ReduceOp reduce) { b.dropping(reduce.getDimensions()); })
      .Case<ArgmaxOp>([&](ArgmaxOp argmax) {
        b.dropping(static_cast<int64_t>(argmax.getDimension()));
      })
      .Case<TopKOp>([&](TopKOp top) {
        b.identity(0);
        b.keepWhole(top.getDimension());
      })
      .Case<CumsumOp>([&](CumsumOp cumsum) {
        b.identity(0);
        b.keepWhole(cumsum.getDimension());
      })
      .Case<SliceOp>([&](SliceOp slice) { b.boxes({0u}); })
      .Case<PadOp>([&](PadOp) { b.boxes({0u}); })
      .Case<DynamicSliceOp>([&](DynamicSliceOp) { b.boxes({0u}); })
      .Case<DynamicUpdateSliceOp>([&](DynamicUpdateSliceOp) {
        b.map.hasBase = true;
        b.boxes({0, 1});
      })
      .Case<ConcatenateOp>([&](ConcatenateOp concatenate) {
        for (unsigned index = 0; index < concatenate->getNumOperands(); ++index)
          b.identity(index);
        b.keepWhole(concatenate.getDimension());
      })
      .Case<GatherOp>([&](GatherOp gather) { b.gather(gather); })
      .Case<ScatterAddOp>([&](ScatterAddOp scatter) { b.scatterAdd(scatter); })
      .Case<DotGeneralOp>([&](DotGeneralOp dot) { b.dot(dot); })
      .Case<ConvolutionOp>([&](ConvolutionOp op) { b.convolution(op); })
      .Case<ReduceWindowOp, SelectAndScatterOp>(
          [&](auto op) { b.windows(op.getDimensions()); })
      .Case<ConstantOp, IotaOp, RandomBitsOp>([](Operation *) {})
      .Default([&](Operation *elementwise) {
        for (unsigned index = 0; index < elementwise->getNumOperands(); ++index)
          b.identity(index);
      });
  return b.map;
}

//===----------------------------------------------------------------------===//
// Reshape
//===----------------------------------------------------------------------===//

/// The leading digits of a group, merged: row part `modulus` steps of
/// `divisor`, and what follows is whole.
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
  DimMap map = buildDimMap(op);
  for (unsigned dim : map.whole.set_bits())
    if (!result[dim].isWhole())
      return std::nullopt;
  SmallVector<RowLayout> layouts;
  for (auto [operand, dims] :
       llvm::zip_equal(op->getOperands(), map.operands)) {
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
  DimMap map = buildDimMap(op);
  for (unsigned dim : map.whole.set_bits())
    result[dim] = RowDigit::whole(type.getDimSize(dim));
  for (auto [digit, target] : llvm::zip_equal(operand, map.operands[index])) {
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
  // By its indices; what comes of it is stored in an argument's place only if
  // rows are as far apart there.
  if (index == 0 && (isRowPadding(op) || isRowSlice(op)))
    return true;
  ArrayRef<int64_t> from = shapeOf(op->getOperand(index)),
                    to = shapeOf(op->getResult(0));
  if (ShapedType::getNumElements(from) != ShapedType::getNumElements(to))
    return false;
  // One element has one place, whatever its shape.
  if (isa<ReshapeOp>(op) || ShapedType::getNumElements(to) == 1)
    return true;
  DimMap map = buildDimMap(op);
  if (map.hasBase && index == 0)
    return true;
  int64_t last = kNone; // dimensions of one element move nothing
  for (auto [size, target] : llvm::zip_equal(from, map.operands[index])) {
    if (size == 1)
      continue;
    if (target <= last || to[target] != size)
      return false;
    last = target;
  }
  return true;
}
