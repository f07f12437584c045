//===- LocalOps.cpp - one row's part of a graph op ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The same op on smaller tensors, as a rule, with the numbers of dropped
// dimensions taken out of its attributes. Ops that know their global index add
// the row's start to it. What comes out is graph ops once more: the caller
// lowers them like any others.
//
//===----------------------------------------------------------------------===//
#include "LocalOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "pp/IR/PP.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/ErrorHandling.h"

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

  /// The op with its attributes on local types.
  Operation *clone(ValueRange newParts) {
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(newParts);
    state.addTypes(type);
    state.propertiesAttr = op->getPropertiesAsAttribute();
    return b.create(state);
  }
  /// `dims` without those that `layout` drops, renumbered.
  static SmallVector<int64_t> renumber(ArrayRef<int64_t> dims,
                                       const RowLayout &layout) {
    SmallVector<int64_t> numbers;
    for (int64_t dim : dims)
      if (!layout[dim].isDropped())
        numbers.push_back(dim - numDropped(layout, dim));
    return numbers;
  }
  static int64_t numDropped(const RowLayout &layout, int64_t before) {
    return llvm::count_if(ArrayRef(layout).take_front(before),
                          [](RowDigit digit) { return digit.isDropped(); });
  }
  /// The entries of a per-dimension list that belong to kept dimensions.
  static SmallVector<int64_t> keep(ArrayRef<int64_t> values,
                                   const RowLayout &layout) {
    SmallVector<int64_t> kept;
    for (auto [value, digit] : llvm::zip_equal(values, layout))
      if (!digit.isDropped())
        kept.push_back(value);
    return kept;
  }

  Value startScalar(RowDigit digit, Type element);
  Value constant(ConstantOp op);
  Value iota(IotaOp op);
  Value broadcast(BroadcastOp op);
  Value transpose(TransposeOp op);
  Value slice(SliceOp op);
  Value randomBits(RandomBitsOp op);
  Value dot(DotGeneralOp op);
  Value convolution(ConvolutionOp op);
  SmallVector<Value> keptStarts(ValueRange starts, const RowLayout &layout);
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

/// Counted in integers, so that a bf16 iota rounds each number once.
Value LocalOpBuilder::iota(IotaOp iota) {
  Location loc = op->getLoc();
  RowDigit digit = result[iota.getDimension()];
  int64_t dim = iota.getDimension() - numDropped(result, iota.getDimension());
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

Value LocalOpBuilder::broadcast(BroadcastOp broadcast) {
  return BroadcastOp::create(b, op->getLoc(), type, parts[0],
                             renumber(broadcast.getDimensions(), result));
}

Value LocalOpBuilder::transpose(TransposeOp transpose) {
  return TransposeOp::create(b, op->getLoc(), type, parts[0],
                             renumber(transpose.getPermutation(), operands[0]));
}

/// A divided dimension is one that the slice takes as a whole.
Value LocalOpBuilder::slice(SliceOp slice) {
  SmallVector<int64_t> starts = keep(slice.getStarts(), result);
  SmallVector<int64_t> strides = keep(slice.getStrides(), result);
  SmallVector<int64_t> limits;
  for (auto [limit, digit] : llvm::zip_equal(slice.getLimits(), result))
    if (!digit.isDropped())
      limits.push_back(digit.isWhole() ? limit : digit.tile);
  return SliceOp::create(b, op->getLoc(), type, parts[0], starts, limits,
                         strides);
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

Value LocalOpBuilder::dot(DotGeneralOp dot) {
  return DotGeneralOp::create(b, op->getLoc(), type, parts[0], parts[1],
                              renumber(dot.getLhsBatch(), operands[0]),
                              renumber(dot.getRhsBatch(), operands[1]),
                              renumber(dot.getLhsContract(), operands[0]),
                              renumber(dot.getRhsContract(), operands[1]));
}

Value LocalOpBuilder::convolution(ConvolutionOp op) {
  return ConvolutionOp::create(
      b, op->getLoc(), type, parts[0], parts[1],
      renumber(op.getLhsBatch(), operands[0]),
      renumber(op.getRhsBatch(), operands[1]),
      renumber(op.getLhsContract(), operands[0]),
      renumber(op.getRhsContract(), operands[1]),
      renumber(op.getLhsWindow(), operands[0]),
      renumber(op.getRhsWindow(), operands[1]),
      renumber(op.getResultWindow(), result), op.getStrides(), op.getLow(),
      op.getHigh(), op.getLhsDilation(), op.getRhsDilation(), op.getReverse());
}

/// Starts of dropped dimensions are those of whole ones: zero.
SmallVector<Value> LocalOpBuilder::keptStarts(ValueRange starts,
                                              const RowLayout &layout) {
  SmallVector<Value> kept;
  for (auto [start, digit] : llvm::zip_equal(starts, layout))
    if (!digit.isDropped())
      kept.push_back(start);
  return kept;
}

} // namespace

Value pp::buildLocalOp(OpBuilder &builder, Operation *op,
                       const RowLayout &result, ArrayRef<RowLayout> operands,
                       ValueRange parts, DigitStart startOf) {
  auto type =
      localType(cast<RankedTensorType>(op->getResult(0).getType()), result);
  LocalOpBuilder b{builder, op, result, operands, parts, startOf, type};
  Location loc = op->getLoc();
  auto renumber = [&](int64_t dim, const RowLayout &layout) {
    return dim - LocalOpBuilder::numDropped(layout, dim);
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<ConstantOp>([&](auto op) { return b.constant(op); })
      .Case<IotaOp>([&](auto op) { return b.iota(op); })
      .Case<RandomBitsOp>([&](auto op) { return b.randomBits(op); })
      .Case<BroadcastOp>([&](auto op) { return b.broadcast(op); })
      .Case<TransposeOp>([&](auto op) { return b.transpose(op); })
      .Case<SliceOp>([&](auto op) { return b.slice(op); })
      .Case<DotGeneralOp>([&](auto op) { return b.dot(op); })
      .Case<ConvolutionOp>([&](auto op) { return b.convolution(op); })
      .Case<ReduceWindowOp>([&](ReduceWindowOp op) {
        return ReduceWindowOp::create(
            builder, loc, type, op.getReduction(), parts[0],
            LocalOpBuilder::renumber(op.getDimensions(), operands[0]),
            op.getSizes(), op.getStrides(), op.getDilations(), op.getLow(),
            op.getHigh());
      })
      .Case<SelectAndScatterOp>([&](SelectAndScatterOp op) {
        return SelectAndScatterOp::create(
            builder, loc, type, parts[0], parts[1],
            LocalOpBuilder::renumber(op.getDimensions(), operands[0]),
            op.getSizes(), op.getStrides(), op.getDilations(), op.getLow(),
            op.getHigh());
      })
      .Case<PadOp>([&](PadOp op) {
        return PadOp::create(builder, loc, type, parts[0], parts[1],
                             LocalOpBuilder::keep(op.getLow(), result),
                             LocalOpBuilder::keep(op.getHigh(), result),
                             LocalOpBuilder::keep(op.getInterior(), result));
      })
      .Case<ReduceOp>([&](ReduceOp op) {
        return ReduceOp::create(
            builder, loc, type, op.getReduction(), parts[0],
            LocalOpBuilder::renumber(op.getDimensions(), operands[0]));
      })
      .Case<ArgmaxOp>([&](ArgmaxOp op) {
        return ArgmaxOp::create(builder, loc, type, parts[0],
                                renumber(op.getDimension(), operands[0]));
      })
      .Case<TopKOp>([&](TopKOp op) {
        return TopKOp::create(builder, loc, type, parts[0],
                              renumber(op.getDimension(), result));
      })
      .Case<CumsumOp>([&](CumsumOp op) {
        return CumsumOp::create(builder, loc, type, parts[0],
                                renumber(op.getDimension(), result),
                                op.getReverse());
      })
      .Case<ConcatenateOp>([&](ConcatenateOp op) {
        return ConcatenateOp::create(builder, loc, type, parts,
                                     renumber(op.getDimension(), result));
      })
      .Case<GatherOp>([&](GatherOp op) {
        return GatherOp::create(builder, loc, type, parts[0], parts[1],
                                renumber(op.getBatchDims(), operands[0]));
      })
      .Case<ScatterAddOp>([&](ScatterAddOp op) {
        return ScatterAddOp::create(builder, loc, type, parts[0], parts[1],
                                    parts[2],
                                    renumber(op.getBatchDims(), operands[0]));
      })
      .Case<DynamicSliceOp>([&](DynamicSliceOp op) {
        return DynamicSliceOp::create(builder, loc, type, parts[0],
                                      b.keptStarts(parts.drop_front(), result));
      })
      .Case<DynamicUpdateSliceOp>([&](DynamicUpdateSliceOp op) {
        return DynamicUpdateSliceOp::create(
            builder, loc, type, parts[0], parts[1],
            b.keptStarts(parts.drop_front(2), result));
      })
      .Default([&](Operation *op) {
        // Of another one, an attribute may name dimensions.
        const bool isIdentity =
            op->hasTrait<MovesElements>() &&
            op->hasTrait<OpTrait::SameOperandsAndResultType>();
        if (!op->hasTrait<OpTrait::Elementwise>() && !isIdentity &&
            !isa<ReshapeOp>(op))
          llvm::reportFatalInternalError(op->getName().getStringRef() +
                                         " has no local form");
        return b.clone(parts)->getResult(0);
      });
}
