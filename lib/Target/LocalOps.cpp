//===- LocalOps.cpp - one row's part of a graph op ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Builds the same op on smaller tensors, its attributes without dropped
// dimensions (DimensionOpInterface). Ops that know their global index add the
// row's start to it. The results are graph ops, which the caller lowers like
// any others.
//
//===----------------------------------------------------------------------===//
#include "KernelPipeline.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "pp/IR/PP.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pp;

namespace {

struct LocalOpBuilder {
  OpBuilder &b;
  Operation *op;
  const RowLayout &result;
  ArrayRef<RowLayout> operands;
  ValueRange parts;
  DigitStart startOf;
  RankedTensorType type;

  static int64_t renumber(int64_t dim, const RowLayout &layout) {
    return dim -
           llvm::count_if(ArrayRef(layout).take_front(dim),
                          [](RowDigit digit) { return digit.isDropped(); });
  }
  const RowLayout &layoutOf(const DimensionAttr &attr) const {
    return attr.tensor == DimensionAttr::kResult ? result
                                                 : operands[attr.tensor];
  }
  /// The value of a dimension attribute for the local tensors.
  Attribute localize(const DimensionAttr &attr, Attribute value);

  Value startScalar(RowDigit digit, Type element);
  Value constant(ConstantOp op);
  Value iota(IotaOp op);
  Value randomBits(RandomBitsOp op);
  Value clone(unsigned firstStart);
};

/// A rank-0 tensor that holds the row's start in a dimension.
Value LocalOpBuilder::startScalar(RowDigit digit, Type element) {
  Location loc = op->getLoc();
  Value start =
      arith::IndexCastOp::create(b, loc, b.getI64Type(), startOf(digit));
  auto wide = RankedTensorType::get({}, b.getI64Type());
  Value scalar = tensor::FromElementsOp::create(b, loc, wide, start);
  if (element.isInteger(64))
    return scalar;
  return ConvertOp::create(b, loc, RankedTensorType::get({}, element), scalar);
}

Value LocalOpBuilder::constant(ConstantOp constant) {
  if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
    return ConstantOp::create(b, op->getLoc(), type, splat.resizeSplat(type));
  Value whole = ConstantOp::create(b, op->getLoc(), constant.getType(),
                                   constant.getValue());
  if (isWholeLayout(result))
    return whole;
  Value table = arith::ConstantOp::create(b, op->getLoc(),
                                          cast<TypedAttr>(constant.getValue()));
  SmallVector<OpFoldResult> offsets, sizes,
      strides(result.size(), b.getIndexAttr(1));
  for (RowDigit digit : result) {
    offsets.push_back(digit.isWhole() ? OpFoldResult(b.getIndexAttr(0))
                                      : OpFoldResult(startOf(digit)));
    sizes.push_back(b.getIndexAttr(digit.tile));
  }
  whole.getDefiningOp()->erase();
  return tensor::ExtractSliceOp::create(b, op->getLoc(), type, table, offsets,
                                        sizes, strides);
}

/// Counted in integers, so that an iota of floats rounds each number once.
Value LocalOpBuilder::iota(IotaOp iota) {
  Location loc = op->getLoc();
  RowDigit digit = result[iota.getDimension()];
  int64_t dim = renumber(iota.getDimension(), result);
  if (digit.isWhole())
    return IotaOp::create(b, loc, type, dim);
  Type element = type.getElementType();
  Type counter = element.isInteger() ? element : b.getI32Type();
  auto counterType = RankedTensorType::get(type.getShape(), counter);
  Value count = BroadcastOp::create(
      b, loc, counterType, startScalar(digit, counter), ArrayRef<int64_t>());
  if (!digit.isDropped())
    count =
        AddOp::create(b, loc, count, IotaOp::create(b, loc, counterType, dim));
  return counter == element ? count : ConvertOp::create(b, loc, type, count);
}

/// Counts from the row's place in the whole tensor.
Value LocalOpBuilder::randomBits(RandomBitsOp bits) {
  Location loc = op->getLoc();
  Type i64 = b.getI64Type();
  auto scalarType = RankedTensorType::get({}, i64);
  SmallVector<Value> offsets;
  SmallVector<int64_t> shape, whole(bits.getType().getShape());
  for (auto [dim, digit] : llvm::enumerate(result)) {
    shape.push_back(digit.tile);
    Value start =
        digit.isWhole()
            ? Value(ConstantOp::create(
                  b, loc, scalarType,
                  DenseElementsAttr::get(scalarType, b.getI64IntegerAttr(0))))
            : startScalar(digit, i64);
    if (bits.getGlobalShape()) {
      Value outer =
          bits.getOffsets()[dim].getType() == scalarType
              ? parts[2 + dim]
              : Value(ConvertOp::create(b, loc, scalarType, parts[2 + dim]));
      start = AddOp::create(b, loc, start, outer);
    }
    offsets.push_back(start);
  }
  if (bits.getGlobalShape())
    whole.assign(bits.getGlobalShape()->begin(), bits.getGlobalShape()->end());
  auto boxType = RankedTensorType::get(shape, type.getElementType());
  Value box =
      RandomBitsOp::create(b, loc, boxType, parts[0], parts[1], offsets,
                           bits.getStream(), b.getDenseI64ArrayAttr(whole));
  return boxType == type ? box : ReshapeOp::create(b, loc, type, box);
}

Attribute LocalOpBuilder::localize(const DimensionAttr &attr, Attribute value) {
  const RowLayout &layout = layoutOf(attr);
  if (auto dim = dyn_cast<IntegerAttr>(value))
    return b.getI64IntegerAttr(renumber(dim.getInt(), layout));
  ArrayRef<int64_t> entries = cast<DenseI64ArrayAttr>(value).asArrayRef();
  SmallVector<int64_t> kept;
  for (auto [index, entry] : llvm::enumerate(entries)) {
    const bool isName = attr.kind == DimensionAttr::Names;
    const RowDigit digit = layout[isName ? entry : int64_t(index)];
    if (digit.isDropped())
      continue;
    // A divided dimension is one of which the op takes all.
    const bool isEnd = attr.kind == DimensionAttr::Ends && !digit.isWhole();
    kept.push_back(isName  ? renumber(entry, layout)
                   : isEnd ? digit.tile
                           : entry);
  }
  return b.getDenseI64ArrayAttr(kept);
}

/// The op on the parts, its attributes on their dimensions. Operands from
/// `firstStart` on are starts, one for each dimension of the result: those of
/// dropped dimensions are those of whole ones, zero.
Value LocalOpBuilder::clone(unsigned firstStart) {
  OperationState state(op->getLoc(), op->getName());
  for (auto [index, part] : llvm::enumerate(parts))
    if (index < firstStart || !result[index - firstStart].isDropped())
      state.addOperands(part);
  state.addTypes(type);
  NamedAttrList properties;
  if (auto whole =
          dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
    properties.append(whole.getValue());
  for (const DimensionAttr &attr :
       cast<DimensionOpInterface>(op).getDimensionAttrs())
    if (Attribute value = properties.get(attr.name)) // it may be optional
      properties.set(attr.name, localize(attr, value));
  if (!properties.empty())
    state.propertiesAttr = properties.getDictionary(b.getContext());
  return b.create(state)->getResult(0);
}

} // namespace

Value pp::buildLocalOp(OpBuilder &builder, Operation *op,
                       const RowLayout &result, ArrayRef<RowLayout> operands,
                       ValueRange parts, DigitStart startOf) {
  auto type =
      localType(cast<RankedTensorType>(op->getResult(0).getType()), result);
  LocalOpBuilder b{builder, op, result, operands, parts, startOf, type};
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](ConstantOp op) { return b.constant(op); })
      .Case([&](IotaOp op) { return b.iota(op); })
      .Case([&](RandomBitsOp op) { return b.randomBits(op); })
      .Case([&](DynamicSliceOp) { return b.clone(/*firstStart=*/1); })
      .Case([&](DynamicUpdateSliceOp) { return b.clone(/*firstStart=*/2); })
      .Default([&](Operation *op) { return b.clone(op->getNumOperands()); });
}
