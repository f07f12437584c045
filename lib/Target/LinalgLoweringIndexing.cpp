//===- LinalgLoweringIndexing.cpp - indexed and serial ops, as linalg -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// gather reads at computed places inside one loop; cumsum is a loop that
// carries its result, so that it adds in order, and so is top_k, as each
// largest element comes behind the one before; random_bits uses Scalars.h on
// the global row-major index.
//
//===----------------------------------------------------------------------===//
#include "LinalgLowering.h"

using namespace mlir;
using namespace pp;

static Value lower(GatherOp op, LinalgBuilder b, ValueRange operands) {
  int64_t batch = op.getBatchDims(), rank = op.getType().getRank();
  int64_t indexRank = ranked(operands[1]).getRank();
  int64_t tableSize = ranked(operands[0]).getDimSize(batch);
  SmallVector<int64_t> indexDims =
      llvm::to_vector(llvm::seq<int64_t>(indexRank));
  Value table = operands[0];
  return b.map(op.getType(), operands[1], b.projection(rank, indexDims),
               [&](LinalgBuilder inner, ValueRange scalars) -> Value {
                 SmallVector<Value> place;
                 for (int64_t dim = 0; dim < batch; ++dim)
                   place.push_back(inner.iteration(dim));
                 place.push_back(inner.clampedIndex(scalars[0], tableSize - 1));
                 for (int64_t dim = indexRank; dim < rank; ++dim)
                   place.push_back(inner.iteration(dim));
                 return tensor::ExtractOp::create(inner.builder, inner.loc,
                                                  table, place);
               });
}

/// The place of the largest element behind `before` in the order of top_k,
/// whose value is `value`; of all elements while `isFirst`. `before` and
/// `value` have one element along `dim`, as the result does.
static Value findNext(LinalgBuilder b, Value from, int64_t dim, Value before,
                      Value value, Value isFirst) {
  OpBuilder &builder = b.builder;
  RankedTensorType placeType = ranked(before), type = ranked(from);
  Type element = getComputeType(type.getElementType()),
       i32 = builder.getI32Type();
  int64_t rank = type.getRank();
  // A dimension of one element has no other place.
  SmallVector<AffineExpr> exprs;
  for (int64_t i = 0; i < rank; ++i)
    exprs.push_back(i == dim ? builder.getAffineConstantExpr(0)
                             : builder.getAffineDimExpr(i));
  AffineMap all = builder.getMultiDimIdentityMap(rank),
            cross = AffineMap::get(rank, 0, exprs, builder.getContext());
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators[dim] = utils::IteratorType::reduction;
  Value best =
      b.fill(placeType.clone(element), getIdentity(Reduction::Max, element));
  Value place = b.fill(placeType, builder.getI32IntegerAttr(-1));
  auto generic = linalg::GenericOp::create(
      builder, b.loc, TypeRange{best.getType(), placeType},
      ValueRange{from, before, value}, ValueRange{best, place},
      {all, cross, cross, cross, cross}, iterators,
      [&](OpBuilder &at, Location loc, ValueRange scalars) {
        Value position = arith::IndexCastOp::create(
            at, loc, i32, linalg::IndexOp::create(at, loc, dim));
        Value next = emitConvert(at, loc, scalars[0], element),
              last = emitConvert(at, loc, scalars[2], element);
        // A later one comes behind unless it is larger, an earlier one if it is
        // smaller.
        Value isLater = arith::CmpIOp::create(
            at, loc, arith::CmpIPredicate::sgt, position, scalars[1]);
        Value isSmaller = emitIsLarger(at, loc, last, next);
        Value isNotLarger = arith::CmpIOp::create(
            at, loc, arith::CmpIPredicate::eq,
            emitIsLarger(at, loc, next, last),
            arith::ConstantOp::create(at, loc, at.getBoolAttr(false)));
        Value isBehind =
            arith::SelectOp::create(at, loc, isLater, isNotLarger, isSmaller);
        isBehind = arith::OrIOp::create(at, loc, isBehind, isFirst);
        Value isLarger = emitIsLarger(at, loc, next, scalars[3]);
        Value none =
            arith::ConstantOp::create(at, loc, at.getI32IntegerAttr(0));
        Value isOnly = arith::CmpIOp::create(at, loc, arith::CmpIPredicate::slt,
                                             scalars[4], none);
        Value isNext = arith::AndIOp::create(
            at, loc, isBehind, arith::OrIOp::create(at, loc, isOnly, isLarger));
        linalg::YieldOp::create(
            at, loc,
            ValueRange{
                arith::SelectOp::create(at, loc, isNext, next, scalars[3]),
                arith::SelectOp::create(at, loc, isNext, position,
                                        scalars[4])});
      });
  return generic.getResult(1);
}

static Value lower(TopKOp op, LinalgBuilder b, ValueRange operands) {
  RankedTensorType type = op.getType(), from = ranked(operands[0]);
  int64_t dim = op.getDimension(), rank = type.getRank();
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = 1;
  auto cross = type.clone(shape);
  return b.carryThrough(
      type.getDimSize(dim), b.fill(type, b.builder.getI32IntegerAttr(0)),
      [&](LinalgBuilder inner, ValueRange ivs, Value found) -> Value {
        OpBuilder &builder = inner.builder;
        Location loc = inner.loc;
        Value zero = inner.index(0);
        Value isFirst = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::eq, ivs[0], zero);
        Value previous =
            arith::SubIOp::create(builder, loc, ivs[0], inner.index(1));
        previous =
            arith::SelectOp::create(builder, loc, isFirst, zero, previous);
        SmallVector<OpFoldResult> sizes =
            getAsIndexOpFoldResult(builder.getContext(), shape);
        SmallVector<OpFoldResult> ones(rank, builder.getIndexAttr(1)),
            offsets(rank, builder.getIndexAttr(0));
        offsets[dim] = previous;
        Value before = tensor::ExtractSliceOp::create(
            builder, loc, cross, found, offsets, sizes, ones);
        Value value = inner.map(
            cross.clone(from.getElementType()), before,
            builder.getMultiDimIdentityMap(rank),
            [&](LinalgBuilder body, ValueRange scalars) -> Value {
              SmallVector<Value> place;
              for (int64_t i = 0; i < rank; ++i)
                place.push_back(i == dim
                                    ? body.clampedIndex(
                                          scalars[0], from.getDimSize(dim) - 1)
                                    : body.iteration(i));
              return tensor::ExtractOp::create(body.builder, body.loc,
                                               operands[0], place);
            });
        Value next = findNext(inner, operands[0], dim, before, value, isFirst);
        offsets[dim] = ivs[0];
        return tensor::InsertSliceOp::create(builder, loc, next, found, offsets,
                                             sizes, ones);
      });
}

/// Front to back or back to front. The running sum is carried beside the
/// result, whose places hold the operand until then.
static Value lower(CumsumOp op, LinalgBuilder b, ValueRange operands) {
  RankedTensorType type = op.getType();
  const int64_t dim = op.getDimension(), rank = type.getRank();
  Type element = type.getElementType(), compute = getComputeType(element);
  SmallVector<int64_t> crossShape(type.getShape());
  crossShape[dim] = 1;
  auto cross = type.clone(crossShape), sumType = cross.clone(compute);
  Value sum = b.fill(sumType, getIdentity(Reduction::Sum, compute));
  SmallVector<OpFoldResult> sizes = getAsIndexOpFoldResult(
                                b.builder.getContext(), crossShape),
                            ones(rank, b.builder.getIndexAttr(1));
  auto loop = scf::ForOp::create(
      b.builder, b.loc, b.index(0), b.index(type.getDimSize(dim)), b.index(1),
      ValueRange{sum, operands[0]},
      [&](OpBuilder &builder, Location loc, Value step, ValueRange carried) {
        LinalgBuilder inner{builder, loc};
        if (op.getReverse())
          step = arith::SubIOp::create(
              builder, loc, inner.index(type.getDimSize(dim) - 1), step);
        SmallVector<OpFoldResult> offsets(rank, builder.getIndexAttr(0));
        offsets[dim] = step;
        Value here = tensor::ExtractSliceOp::create(
            builder, loc, cross, carried[1], offsets, sizes, ones);
        AffineMap identity = builder.getMultiDimIdentityMap(rank);
        auto next = linalg::GenericOp::create(
            builder, loc, TypeRange{sumType, cross}, ValueRange(),
            ValueRange{carried[0], here}, {identity, identity},
            SmallVector<utils::IteratorType>(rank,
                                             utils::IteratorType::parallel),
            [&](OpBuilder &nested, Location loc, ValueRange x) {
              Value wide = emitConvert(nested, loc, x[1], compute);
              Value sum = emitCombine(nested, loc, Reduction::Sum, x[0], wide);
              Value rounded = emitConvert(nested, loc, sum, element);
              linalg::YieldOp::create(nested, loc, ValueRange{sum, rounded});
            });
        Value result = tensor::InsertSliceOp::create(
            builder, loc, next.getResult(1), carried[1], offsets, sizes, ones);
        scf::YieldOp::create(builder, loc,
                             ValueRange{next.getResult(0), result});
      });
  return loop.getResult(1);
}

//===----------------------------------------------------------------------===//
// random_bits
//===----------------------------------------------------------------------===//

static Value lower(RandomBitsOp op, LinalgBuilder b, ValueRange operands) {
  SmallVector<Value> scalars;
  for (Value operand : operands)
    scalars.push_back(
        tensor::ExtractOp::create(b.builder, b.loc, operand, ValueRange()));
  return b.map(op.getType(), {}, {}, [&](LinalgBuilder inner, ValueRange) {
    auto placeAlong = [&](int64_t dim) -> Value {
      return arith::IndexCastOp::create(inner.builder, inner.loc,
                                        inner.builder.getI64Type(),
                                        inner.iteration(dim));
    };
    auto operand = [&](unsigned index) { return scalars[index]; };
    return emitRandomBits(inner.builder, op, placeAlong, operand);
  });
}

void pp::attachIndexingLowerings(MLIRContext *context) {
  attachLowering<GatherOp, lower>(context);
  attachLowering<TopKOp, lower>(context);
  attachLowering<CumsumOp, lower>(context);
  attachLowering<RandomBitsOp, lower>(context);
}
