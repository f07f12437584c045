//===- LinalgLoweringWindow.cpp - convolutions and pooling, as linalg -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Loops over positions, then over taps, on an operand that is first padded and
// spread out, so that every place exists. Float convolutions of any size go to
// a library (FormContractions.cpp); integers and small parts come here.
//
//===----------------------------------------------------------------------===//
#include "LinalgLowering.h"
#include "pp/IR/Windows.h"

using namespace mlir;
using namespace pp;

namespace {

/// Padding around one dimension, and the distance of its elements.
struct Padding {
  int64_t dim, low, high, dilation = 1;
};

Padding paddingOf(int64_t dim, const Window &window) {
  return {dim, window.low, window.high, window.baseDilation};
}

bool isEmpty(Value value) {
  return llvm::is_contained(ranked(value).getShape(), 0);
}

/// `value` between elements that equal `fill`; cut where a padding is negative.
Value padded(LinalgBuilder b, Value value, ArrayRef<Padding> paddings,
             TypedAttr fill) {
  if (llvm::all_of(paddings, [](const Padding &padding) {
        return padding.low == 0 && padding.high == 0 && padding.dilation == 1;
      }))
    return value;
  auto from = ranked(value);
  SmallVector<int64_t> shape(from.getShape()), first(shape.size(), 0),
      count(shape), place(first), apart(shape.size(), 1);
  for (const Padding &padding : paddings) {
    int64_t &size = shape[padding.dim];
    const int64_t last = size - 1;
    size = last * padding.dilation + 1 + padding.low + padding.high;
    first[padding.dim] =
        llvm::divideCeil(std::max<int64_t>(0, -padding.low), padding.dilation);
    const int64_t end =
        std::min(last, llvm::divideFloorSigned(size - 1 - padding.low,
                                               padding.dilation));
    count[padding.dim] = std::max<int64_t>(0, end - first[padding.dim] + 1);
    place[padding.dim] = first[padding.dim] * padding.dilation + padding.low;
    apart[padding.dim] = padding.dilation;
  }
  Value whole =
      b.fill(RankedTensorType::get(shape, from.getElementType()), fill);
  if (llvm::is_contained(count, 0))
    return whole;
  auto attributes = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(b.builder.getContext(), values);
  };
  SmallVector<int64_t> ones(shape.size(), 1);
  if (ArrayRef<int64_t>(count) != from.getShape())
    value = tensor::ExtractSliceOp::create(b.builder, b.loc, value,
                                           attributes(first), attributes(count),
                                           attributes(ones));
  return tensor::InsertSliceOp::create(b.builder, b.loc, value, whole,
                                       attributes(place), attributes(count),
                                       attributes(apart));
}

SmallVector<utils::IteratorType> iterators(int64_t parallel, int64_t all) {
  SmallVector<utils::IteratorType> result(parallel,
                                          utils::IteratorType::parallel);
  result.resize(all, utils::IteratorType::reduction);
  return result;
}

/// The window dimensions of pooling.
template <typename OpTy> struct Pooling {
  OpTy op;
  LinalgBuilder b;

  /// The map from loops over positions, then taps, to places of an operand of
  /// `rank`.
  AffineMap places(int64_t rank) {
    SmallVector<AffineExpr> exprs;
    for (int64_t dim = 0; dim < rank; ++dim)
      exprs.push_back(b.builder.getAffineDimExpr(dim));
    for (auto [index, dim] : llvm::enumerate(op.getDimensions()))
      exprs[dim] =
          exprs[dim] * op.getStrides()[index] +
          b.builder.getAffineDimExpr(rank + index) * op.getDilations()[index];
    return AffineMap::get(rank + op.getDimensions().size(), 0, exprs,
                          b.builder.getContext());
  }
  /// Tells the taps their number.
  Value taps() {
    return b.empty(RankedTensorType::get(op.getSizes(), b.builder.getI1Type()));
  }
  AffineMap tapsMap(int64_t rank) {
    return b.projection(rank + op.getDimensions().size(),
                        llvm::to_vector(llvm::seq<int64_t>(
                            rank, rank + op.getDimensions().size())));
  }
  AffineMap positionsMap(int64_t rank) {
    return b.projection(rank + op.getDimensions().size(),
                        llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  }
  SmallVector<Padding> paddings() {
    SmallVector<Padding> result;
    for (auto [index, dim] : llvm::enumerate(op.getDimensions()))
      result.push_back(paddingOf(dim, getWindow(op, index)));
    return result;
  }
};

} // namespace

static Value lower(ConvolutionOp op, LinalgBuilder b, ValueRange operands) {
  if (isEmpty(operands[0]) || isEmpty(operands[1]) || isEmpty(op.getResult()))
    return b.fill(op.getType(),
                  getIdentity(Reduction::Sum, op.getType().getElementType()));
  SmallVector<Padding> paddings;
  for (auto [index, dim] : llvm::enumerate(op.getLhsWindow()))
    paddings.push_back(paddingOf(dim, getWindow(op, index)));
  Type given = ranked(operands[0]).getElementType();
  Value lhs =
      padded(b, operands[0], paddings, getIdentity(Reduction::Sum, given));
  const int64_t rank = op.getType().getRank(),
                contracted = op.getLhsContract().size(),
                loops = rank + contracted + op.getLhsWindow().size();
  auto loop = [&](int64_t dim) { return b.builder.getAffineDimExpr(dim); };
  SmallVector<AffineExpr> left(ranked(lhs).getRank()),
      right(ranked(operands[1]).getRank());
  SmallVector<int64_t> plain = op.getResultPlain();
  size_t next = 0;
  for (auto [l, r] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
    left[l] = right[r] = loop(plain[next++]);
  for (int64_t dim : op.getLhsFree())
    left[dim] = loop(plain[next++]);
  for (int64_t dim : op.getRhsFree())
    right[dim] = loop(plain[next++]);
  for (int64_t index = 0; index < contracted; ++index)
    left[op.getLhsContract()[index]] = right[op.getRhsContract()[index]] =
        loop(rank + index);
  for (unsigned index = 0; index < op.getLhsWindow().size(); ++index) {
    Window window = getWindow(op, index);
    AffineExpr tap = loop(rank + contracted + index);
    right[op.getRhsWindow()[index]] = tap;
    // Backwards through rhs is backwards through the window.
    AffineExpr step = op.getReverse() ? window.taps - 1 - tap : tap;
    left[op.getLhsWindow()[index]] =
        loop(op.getResultWindow()[index]) * window.stride +
        step * window.dilation;
  }
  MLIRContext *context = b.builder.getContext();
  return b.sumProducts(op.getType(), {lhs, operands[1]},
                       {AffineMap::get(loops, 0, left, context),
                        AffineMap::get(loops, 0, right, context)},
                       loops);
}

static Value lower(ReduceWindowOp op, LinalgBuilder b, ValueRange operands) {
  Type element = op.getType().getElementType(),
       compute = getComputeType(element);
  const int64_t rank = op.getType().getRank();
  auto sumType = RankedTensorType::get(op.getType().getShape(), compute);
  Value start = b.fill(sumType, getIdentity(op.getReduction(), compute));
  if (isEmpty(operands[0]) || isEmpty(op.getResult()))
    return b.convert(start, op.getType());
  Pooling<ReduceWindowOp> pooling{op, b};
  Value from = padded(b, operands[0], pooling.paddings(),
                      getIdentity(op.getReduction(), element));
  auto generic = linalg::GenericOp::create(
      b.builder, b.loc, sumType, ValueRange{from, pooling.taps()}, start,
      {pooling.places(rank), pooling.tapsMap(rank), pooling.positionsMap(rank)},
      iterators(rank, rank + op.getDimensions().size()),
      [&](OpBuilder &nested, Location loc, ValueRange scalars) {
        Value wide = emitConvert(nested, loc, scalars[0], compute);
        linalg::YieldOp::create(
            nested, loc,
            emitCombine(nested, loc, op.getReduction(), scalars[2], wide));
      });
  return b.convert(generic.getResult(0), op.getType());
}

/// First the tap of each window's largest element; then, for every element, the
/// updates of the windows that have it there.
static Value lower(SelectAndScatterOp op, LinalgBuilder b,
                   ValueRange operands) {
  RankedTensorType type = op.getType();
  auto pooled = ranked(operands[1]);
  Type element = type.getElementType(), compute = getComputeType(element);
  auto sumType = RankedTensorType::get(type.getShape(), compute);
  Value start = b.fill(sumType, getIdentity(Reduction::Sum, compute));
  if (isEmpty(operands[0]) || isEmpty(operands[1]))
    return b.convert(start, type);
  const int64_t rank = type.getRank(), windows = op.getDimensions().size();
  Type number = b.builder.getI32Type();
  Pooling<SelectAndScatterOp> pooling{op, b};

  // A tap on padding is no candidate, whatever the operand holds.
  auto marks = RankedTensorType::get(type.getShape(), b.builder.getI1Type());
  SmallVector<Padding> paddings = pooling.paddings();
  Value from =
      padded(b, operands[0], paddings, getIdentity(Reduction::Max, element));
  Value inside = padded(b, b.fill(marks, b.builder.getBoolAttr(true)), paddings,
                        b.builder.getBoolAttr(false));
  auto tapNumber = [&](OpBuilder &nested, Location loc) -> Value {
    Value flat = arith::ConstantIndexOp::create(nested, loc, 0);
    for (int64_t index = 0; index < windows; ++index) {
      Value size =
          arith::ConstantIndexOp::create(nested, loc, op.getSizes()[index]);
      flat = arith::MulIOp::create(nested, loc, flat, size);
      flat = arith::AddIOp::create(
          nested, loc, flat,
          linalg::IndexOp::create(nested, loc, rank + index));
    }
    return arith::IndexCastOp::create(nested, loc, number, flat);
  };
  auto none = b.builder.getIntegerAttr(number, -1);
  auto bestType = RankedTensorType::get(pooled.getShape(), compute);
  auto placeType = RankedTensorType::get(pooled.getShape(), number);
  auto search = linalg::GenericOp::create(
      b.builder, b.loc, TypeRange{bestType, placeType},
      ValueRange{from, inside, pooling.taps()},
      ValueRange{b.fill(bestType, getIdentity(Reduction::Max, compute)),
                 b.fill(placeType, none)},
      {pooling.places(rank), pooling.places(rank), pooling.tapsMap(rank),
       pooling.positionsMap(rank), pooling.positionsMap(rank)},
      iterators(rank, rank + windows),
      [&](OpBuilder &nested, Location loc, ValueRange scalars) {
        Value value = emitConvert(nested, loc, scalars[0], compute);
        Value best = scalars[3], place = scalars[4];
        Value isLarger = emitIsLarger(nested, loc, value, best);
        Value isFirst = arith::CmpIOp::create(
            nested, loc, arith::CmpIPredicate::slt, place,
            arith::ConstantOp::create(nested, loc,
                                      nested.getIntegerAttr(number, 0)));
        Value takes = arith::AndIOp::create(
            nested, loc, scalars[1],
            arith::OrIOp::create(nested, loc, isFirst, isLarger));
        linalg::YieldOp::create(
            nested, loc,
            ValueRange{arith::SelectOp::create(nested, loc, takes, value, best),
                       arith::SelectOp::create(nested, loc, takes,
                                               tapNumber(nested, loc), place)});
      });

  // Element e is tap t of position p where p * stride = e + low - t * dilation.
  SmallVector<Padding> back;
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0; dim < rank; ++dim)
    exprs.push_back(b.builder.getAffineDimExpr(dim));
  for (auto [index, dim] : llvm::enumerate(op.getDimensions())) {
    Window window = getWindow(op, index);
    int64_t reach = (window.taps - 1) * window.dilation;
    int64_t extent = (pooled.getDimSize(dim) - 1) * window.stride + 1;
    back.push_back({static_cast<int64_t>(dim), reach - window.low,
                    window.size + window.low - extent, window.stride});
    exprs[dim] = exprs[dim] + reach -
                 b.builder.getAffineDimExpr(rank + index) * window.dilation;
  }
  AffineMap backwards =
      AffineMap::get(rank + windows, 0, exprs, b.builder.getContext());
  Value updates =
      padded(b, operands[1], back, getIdentity(Reduction::Sum, element));
  Value chosen = padded(b, search.getResult(1), back, none);
  auto sum = linalg::GenericOp::create(
      b.builder, b.loc, sumType, ValueRange{updates, chosen, pooling.taps()},
      start,
      {backwards, backwards, pooling.tapsMap(rank), pooling.positionsMap(rank)},
      iterators(rank, rank + windows),
      [&](OpBuilder &nested, Location loc, ValueRange scalars) {
        Value isHere =
            arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::eq,
                                  scalars[1], tapNumber(nested, loc));
        Value zero = arith::ConstantOp::create(
            nested, loc, getIdentity(Reduction::Sum, compute));
        Value addend = arith::SelectOp::create(
            nested, loc, isHere, emitConvert(nested, loc, scalars[0], compute),
            zero);
        linalg::YieldOp::create(
            nested, loc,
            emitCombine(nested, loc, Reduction::Sum, scalars[3], addend));
      });
  return b.convert(sum.getResult(0), type);
}

void pp::attachWindowLowerings(MLIRContext *context) {
  attachLowering<ConvolutionOp, lower>(context);
  attachLowering<ReduceWindowOp, lower>(context);
  attachLowering<SelectAndScatterOp, lower>(context);
}
