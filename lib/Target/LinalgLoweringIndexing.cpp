//===- LinalgLoweringIndexing.cpp - indexed and serial ops, as linalg -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
// gather reads at computed places inside one loop; scatter_add and cumsum are
// loops that carry their result, so that they add in index order, and top_k is
// one, as each largest element comes behind the one before; random_bits is
// what LinalgScalars.h has on the global row-major index.
//
//===----------------------------------------------------------------------===//
#include "LinalgLowering.h"

using namespace mlir;
using namespace pp;

Value pp::lower(GatherOp op, LinalgBuilder b, ValueRange operands) {
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

/// Calls `body` inside loops over `sizes`, carrying one tensor.
static Value
carryThrough(LinalgBuilder b, ArrayRef<int64_t> sizes, Value carried,
             function_ref<Value(LinalgBuilder, ValueRange, Value)> body) {
  SmallVector<Value> lower(sizes.size(), b.index(0)),
      step(sizes.size(), b.index(1)), upper;
  for (int64_t size : sizes)
    upper.push_back(b.index(size));
  if (sizes.empty())
    return body(b, {}, carried);
  auto nest =
      scf::buildLoopNest(b.builder, b.loc, lower, upper, step, carried,
                         [&](OpBuilder &nested, Location loc, ValueRange ivs,
                             ValueRange iterArgs) {
                           return scf::ValueVector{body(
                               LinalgBuilder{nested, loc}, ivs, iterArgs[0])};
                         });
  return nest.results[0];
}

/// A box of size 1 in all dimensions but the last ones, as a tensor of these.
static RankedTensorType rowType(RankedTensorType type, int64_t leading) {
  return RankedTensorType::get(type.getShape().drop_front(leading),
                               type.getElementType());
}

/// Updates outside the table add zero to a row inside it.
Value pp::lower(ScatterAddOp op, LinalgBuilder b, ValueRange operands) {
  Value indices = operands[1], updates = operands[2];
  RankedTensorType tableType = op.getType();
  // An empty table has no row inside it.
  if (tableType.getNumElements() == 0)
    return operands[0];
  int64_t batch = op.getBatchDims(), indexRank = ranked(indices).getRank();
  RankedTensorType row = rowType(tableType, batch + 1);
  Type element = row.getElementType();
  return carryThrough(
      b, ranked(indices).getShape(), operands[0],
      [&](LinalgBuilder inner, ValueRange ivs, Value table) -> Value {
        OpBuilder &builder = inner.builder;
        Value raw = tensor::ExtractOp::create(builder, inner.loc, indices, ivs);
        Value wanted = arith::IndexCastOp::create(builder, inner.loc,
                                                  builder.getIndexType(), raw);
        Value place = inner.clampedIndex(raw, tableType.getDimSize(batch) - 1);
        Value isInside = arith::CmpIOp::create(
            builder, inner.loc, arith::CmpIPredicate::eq, wanted, place);
        auto slice = [&](ArrayRef<Value> leading, int64_t rank,
                         ArrayRef<int64_t> rest) {
          SmallVector<OpFoldResult> offsets(leading.begin(), leading.end());
          offsets.resize(rank, builder.getIndexAttr(0));
          SmallVector<OpFoldResult> sizes(leading.size(),
                                          builder.getIndexAttr(1));
          llvm::append_range(
              sizes, getAsIndexOpFoldResult(builder.getContext(), rest));
          return std::make_pair(offsets, sizes);
        };
        SmallVector<Value> tablePlace(ivs.take_front(batch));
        tablePlace.push_back(place);
        SmallVector<Value> updatePlace(ivs);
        auto [tableOffsets, tableSizes] =
            slice(tablePlace, tableType.getRank(), row.getShape());
        auto [updateOffsets, updateSizes] =
            slice(updatePlace, indexRank + row.getRank(), row.getShape());
        SmallVector<OpFoldResult> tableOnes(tableOffsets.size(),
                                            builder.getIndexAttr(1));
        SmallVector<OpFoldResult> updateOnes(updateOffsets.size(),
                                             builder.getIndexAttr(1));
        Value old =
            tensor::ExtractSliceOp::create(builder, inner.loc, row, table,
                                           tableOffsets, tableSizes, tableOnes);
        Value update = tensor::ExtractSliceOp::create(builder, inner.loc, row,
                                                      updates, updateOffsets,
                                                      updateSizes, updateOnes);
        AffineMap identity = builder.getMultiDimIdentityMap(row.getRank());
        SmallVector<AffineMap> maps{identity, identity};
        auto sum = linalg::GenericOp::create(
            builder, inner.loc, row, update, old, maps,
            SmallVector<utils::IteratorType>(row.getRank(),
                                             utils::IteratorType::parallel),
            [&](OpBuilder &nested, Location loc, ValueRange scalars) {
              Value zero = arith::ConstantOp::create(
                  nested, loc, getIdentity(Reduction::Sum, element));
              Value addend = arith::SelectOp::create(nested, loc, isInside,
                                                     scalars[0], zero);
              Value next =
                  emitCombine(nested, loc, Reduction::Sum, scalars[1], addend);
              linalg::YieldOp::create(nested, loc, next);
            });
        return tensor::InsertSliceOp::create(
            builder, inner.loc, sum.getResult(0), table, tableOffsets,
            tableSizes, tableOnes);
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
  // What has one element along `dim` stays at it.
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

Value pp::lower(TopKOp op, LinalgBuilder b, ValueRange operands) {
  RankedTensorType type = op.getType(), from = ranked(operands[0]);
  int64_t dim = op.getDimension(), rank = type.getRank();
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = 1;
  auto cross = type.clone(shape);
  return carryThrough(
      b, type.getDimSize(dim), b.fill(type, b.builder.getI32IntegerAttr(0)),
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

/// Adds the previous position's sum to each position, front to back or back to
/// front; the copy of the operand is the carried tensor.
Value pp::lower(CumsumOp op, LinalgBuilder b, ValueRange operands) {
  RankedTensorType type = op.getType();
  int64_t dim = op.getDimension(), size = type.getDimSize(dim);
  if (size < 2)
    return operands[0];
  SmallVector<int64_t> crossShape(type.getShape());
  crossShape[dim] = 1;
  auto cross = RankedTensorType::get(crossShape, type.getElementType());
  return carryThrough(
      b, size - 1, operands[0],
      [&](LinalgBuilder inner, ValueRange ivs, Value sums) -> Value {
        OpBuilder &builder = inner.builder;
        Value one = inner.index(1);
        Value previous = ivs[0], current;
        if (op.getReverse()) {
          previous = arith::SubIOp::create(builder, inner.loc,
                                           inner.index(size - 1), ivs[0]);
          current = arith::SubIOp::create(builder, inner.loc, previous, one);
        } else {
          current = arith::AddIOp::create(builder, inner.loc, previous, one);
        }
        SmallVector<OpFoldResult> sizes =
            getAsIndexOpFoldResult(builder.getContext(), crossShape);
        SmallVector<OpFoldResult> ones(type.getRank(), builder.getIndexAttr(1));
        auto at = [&](Value position) {
          SmallVector<OpFoldResult> offsets(type.getRank(),
                                            builder.getIndexAttr(0));
          offsets[dim] = position;
          return offsets;
        };
        Value before = tensor::ExtractSliceOp::create(
            builder, inner.loc, cross, sums, at(previous), sizes, ones);
        Value here = tensor::ExtractSliceOp::create(
            builder, inner.loc, cross, sums, at(current), sizes, ones);
        AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
        Value sum = inner.map(cross, {before, here}, {identity, identity},
                              [&](LinalgBuilder body, ValueRange x) {
                                return emitCombine(body.builder, body.loc,
                                                   Reduction::Sum, x[0], x[1]);
                              });
        return tensor::InsertSliceOp::create(builder, inner.loc, sum, sums,
                                             at(current), sizes, ones);
      });
}

//===----------------------------------------------------------------------===//
// random_bits
//===----------------------------------------------------------------------===//

namespace {

Value toI64(LinalgBuilder b, Value value) {
  Type i64 = b.builder.getI64Type();
  if (value.getType().isIndex())
    return arith::IndexCastOp::create(b.builder, b.loc, i64, value);
  return emitConvert(b.builder, b.loc, value, i64);
}

} // namespace

Value pp::lower(RandomBitsOp op, LinalgBuilder b, ValueRange operands) {
  RankedTensorType type = op.getType();
  ArrayRef<int64_t> whole =
      op.getGlobalShape() ? *op.getGlobalShape() : type.getShape();
  SmallVector<Value> scalars;
  for (Value operand : operands)
    scalars.push_back(toI64(
        b, tensor::ExtractOp::create(b.builder, b.loc, operand, ValueRange())));
  return b.map(type, {}, {}, [&](LinalgBuilder inner, ValueRange) -> Value {
    OpBuilder &builder = inner.builder;
    Location loc = inner.loc;
    Value index =
        arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0));
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      Value size = arith::ConstantOp::create(
          builder, loc, builder.getI64IntegerAttr(whole[dim]));
      Value position = toI64(inner, inner.iteration(dim));
      if (op.getGlobalShape())
        position =
            arith::AddIOp::create(builder, loc, position, scalars[2 + dim]);
      index = arith::MulIOp::create(builder, loc, index, size);
      index = arith::AddIOp::create(builder, loc, index, position);
    }
    return emitRandomBits(builder, loc, index, scalars[0], scalars[1],
                          op.getStream());
  });
}
