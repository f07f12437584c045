//===- LinalgLoweringScatter.cpp - scatter_add, as linalg -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A row of the table is the sum of its old value and of its updates, in their
// order. If the table's elements can hold a sum, each update is added to its
// row. Elements of narrow floats cannot: there all updates of a row are added
// when the first one's turn comes, in f32, and rounded once. Linked lists, of a
// number for each row and each update, hold the updates of a row; a table of
// sums would take more memory than the table itself.
//
//===----------------------------------------------------------------------===//
#include "LinalgLowering.h"

using namespace mlir;
using namespace pp;

namespace {

struct Scatter {
  /// The destination of an update.
  struct Destination {
    Value row; ///< of the table, if it is inside
    Value isInside;
  };

  Scatter(ScatterAddOp op, ValueRange operands)
      : indices(operands[1]), updates(operands[2]), batch(op.getBatchDims()),
        numRows(op.getType().getDimSize(batch)),
        picked(ranked(indices).getShape().drop_front(batch)),
        row(RankedTensorType::get(op.getType().getShape().drop_front(batch + 1),
                                  op.getType().getElementType())),
        compute(getComputeType(row.getElementType())) {}

  Value addEach(LinalgBuilder b, Value table);
  Value addByRows(LinalgBuilder b, Value table);

private:
  Destination destinationOf(LinalgBuilder b, ValueRange update);
  /// The row at `place`, the indices of all dimensions before it.
  Value take(LinalgBuilder b, Value from, ValueRange place);
  Value put(LinalgBuilder b, Value row, Value into, ValueRange place);
  /// Adds a row of updates, or zeros if they are not inside, to sums.
  Value add(LinalgBuilder b, Value sums, Value update, Value isInside);
  /// The number of an update in its batch, and back.
  Value linearize(LinalgBuilder b, ValueRange update);
  SmallVector<Value> delinearize(LinalgBuilder b, Value update);
  std::pair<Value, Value> makeLists(LinalgBuilder b, ValueRange place);
  Value addList(LinalgBuilder b, Value table, ValueRange place, Value first,
                Value nexts);
  Value addRows(LinalgBuilder b, Value table, ValueRange place);

  Value indices, updates;
  int64_t batch, numRows;
  ArrayRef<int64_t> picked;
  RankedTensorType row;
  Type compute;
};

} // namespace

Scatter::Destination Scatter::destinationOf(LinalgBuilder b,
                                            ValueRange update) {
  Value raw = tensor::ExtractOp::create(b.builder, b.loc, indices, update);
  Value wanted = arith::IndexCastOp::create(b.builder, b.loc,
                                            b.builder.getIndexType(), raw);
  Value inside = b.clampedIndex(raw, numRows - 1);
  Value isInside = arith::CmpIOp::create(
      b.builder, b.loc, arith::CmpIPredicate::eq, wanted, inside);
  return {inside, isInside};
}

/// Offsets, sizes and strides of the row at `place`.
static std::tuple<SmallVector<OpFoldResult>, SmallVector<OpFoldResult>,
                  SmallVector<OpFoldResult>>
boxOf(OpBuilder &builder, ValueRange place, ArrayRef<int64_t> row) {
  const size_t rank = place.size() + row.size();
  SmallVector<OpFoldResult> offsets(place.begin(), place.end()),
      sizes(place.size(), builder.getIndexAttr(1)),
      strides(rank, builder.getIndexAttr(1));
  offsets.resize(rank, builder.getIndexAttr(0));
  llvm::append_range(sizes, getAsIndexOpFoldResult(builder.getContext(), row));
  return {offsets, sizes, strides};
}

Value Scatter::take(LinalgBuilder b, Value from, ValueRange place) {
  auto [offsets, sizes, strides] = boxOf(b.builder, place, row.getShape());
  return tensor::ExtractSliceOp::create(
      b.builder, b.loc, row.clone(ranked(from).getElementType()), from, offsets,
      sizes, strides);
}

Value Scatter::put(LinalgBuilder b, Value row, Value into, ValueRange place) {
  auto [offsets, sizes, strides] =
      boxOf(b.builder, place, ranked(row).getShape());
  return tensor::InsertSliceOp::create(b.builder, b.loc, row, into, offsets,
                                       sizes, strides);
}

Value Scatter::add(LinalgBuilder b, Value sums, Value update, Value isInside) {
  AffineMap identity = b.builder.getMultiDimIdentityMap(row.getRank());
  auto sum = linalg::GenericOp::create(
      b.builder, b.loc, sums.getType(), update, sums, {identity, identity},
      SmallVector<utils::IteratorType>(row.getRank(),
                                       utils::IteratorType::parallel),
      [&](OpBuilder &nested, Location loc, ValueRange scalars) {
        Value addend = emitConvert(nested, loc, scalars[0], compute);
        if (isInside) {
          Value zero = arith::ConstantOp::create(
              nested, loc, getIdentity(Reduction::Sum, compute));
          addend = arith::SelectOp::create(nested, loc, isInside, addend, zero);
        }
        linalg::YieldOp::create(
            nested, loc,
            emitCombine(nested, loc, Reduction::Sum, scalars[1], addend));
      });
  return sum.getResult(0);
}

/// Updates outside the table add zero to a row inside it.
Value Scatter::addEach(LinalgBuilder b, Value table) {
  return b.carryThrough(
      ranked(indices).getShape(), table,
      [&](LinalgBuilder inner, ValueRange update, Value sums) -> Value {
        Destination target = destinationOf(inner, update);
        SmallVector<Value> place(update.take_front(batch));
        place.push_back(target.row);
        Value sum = add(inner, take(inner, sums, place),
                        take(inner, updates, update), target.isInside);
        return put(inner, sum, sums, place);
      });
}

Value Scatter::linearize(LinalgBuilder b, ValueRange update) {
  Value number = b.index(0);
  for (auto [size, index] : llvm::zip_equal(picked, update)) {
    number = arith::MulIOp::create(b.builder, b.loc, number, b.index(size));
    number = arith::AddIOp::create(b.builder, b.loc, number, index);
  }
  return number;
}

SmallVector<Value> Scatter::delinearize(LinalgBuilder b, Value update) {
  SmallVector<Value> place(picked.size());
  for (int64_t dim = picked.size(); dim-- > 0;) {
    Value size = b.index(picked[dim]);
    place[dim] = arith::RemUIOp::create(b.builder, b.loc, update, size);
    update = arith::DivUIOp::create(b.builder, b.loc, update, size);
  }
  return place;
}

/// The number of each row's first update, and of each update the number of the
/// next one of the same row; -1 where there is none.
std::pair<Value, Value> Scatter::makeLists(LinalgBuilder b, ValueRange place) {
  Type i32 = b.builder.getI32Type();
  const int64_t numUpdates = ShapedType::getNumElements(picked);
  Value none = b.fill(RankedTensorType::get(numRows, i32),
                      b.builder.getI32IntegerAttr(-1));
  Value next = b.empty(RankedTensorType::get(numUpdates, i32));
  // From the last to the first.
  auto loop = scf::ForOp::create(
      b.builder, b.loc, b.index(0), b.index(numUpdates), b.index(1),
      ValueRange{none, next},
      [&](OpBuilder &builder, Location loc, Value step, ValueRange carried) {
        LinalgBuilder inner{builder, loc};
        Value update = arith::SubIOp::create(builder, loc,
                                             inner.index(numUpdates - 1), step);
        SmallVector<Value> where(place);
        llvm::append_range(where, delinearize(inner, update));
        Destination target = destinationOf(inner, where);
        Value behind =
            tensor::ExtractOp::create(builder, loc, carried[0], target.row);
        Value nexts =
            tensor::InsertOp::create(builder, loc, behind, carried[1], update);
        Value number = arith::IndexCastOp::create(builder, loc, i32, update);
        Value first = arith::SelectOp::create(builder, loc, target.isInside,
                                              number, behind);
        Value firsts = tensor::InsertOp::create(builder, loc, first, carried[0],
                                                target.row);
        scf::YieldOp::create(builder, loc, ValueRange{firsts, nexts});
      });
  return {loop.getResult(0), loop.getResult(1)};
}

/// To the row at `place`, the updates from number `first` on.
Value Scatter::addList(LinalgBuilder b, Value table, ValueRange place,
                       Value first, Value nexts) {
  auto sumType = row.clone(compute);
  Value before = take(b, table, place);
  auto loop = scf::WhileOp::create(
      b.builder, b.loc, TypeRange{first.getType(), sumType},
      ValueRange{first, b.convert(before, sumType)},
      [&](OpBuilder &builder, Location loc, ValueRange carried) {
        Value zero = arith::ConstantOp::create(builder, loc,
                                               builder.getI32IntegerAttr(0));
        Value isThere = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::sge, carried[0], zero);
        scf::ConditionOp::create(builder, loc, isThere, carried);
      },
      [&](OpBuilder &builder, Location loc, ValueRange carried) {
        LinalgBuilder body{builder, loc};
        Value update = arith::IndexCastOp::create(
            builder, loc, builder.getIndexType(), carried[0]);
        SmallVector<Value> from(place.take_front(batch));
        llvm::append_range(from, delinearize(body, update));
        Value sum = add(body, carried[1], take(body, updates, from), Value());
        Value next = tensor::ExtractOp::create(builder, loc, nexts, update);
        scf::YieldOp::create(builder, loc, ValueRange{next, sum});
      });
  AffineMap identity = b.builder.getMultiDimIdentityMap(row.getRank());
  auto rounded = linalg::GenericOp::create(
      b.builder, b.loc, row, loop.getResult(1), before, {identity, identity},
      SmallVector<utils::IteratorType>(row.getRank(),
                                       utils::IteratorType::parallel),
      [&](OpBuilder &nested, Location loc, ValueRange scalars) {
        linalg::YieldOp::create(
            nested, loc,
            emitConvert(nested, loc, scalars[0], row.getElementType()));
      });
  return put(b, rounded.getResult(0), table, place);
}

/// Those of the batch at `place`: at each row's first update.
Value Scatter::addRows(LinalgBuilder b, Value table, ValueRange place) {
  const auto lists = makeLists(b, place);
  const Value firsts = lists.first, nexts = lists.second;
  return b.carryThrough(
      picked, table,
      [&](LinalgBuilder inner, ValueRange update, Value sums) -> Value {
        OpBuilder &builder = inner.builder;
        SmallVector<Value> where(place);
        llvm::append_range(where, update);
        Destination target = destinationOf(inner, where);
        Value first =
            tensor::ExtractOp::create(builder, inner.loc, firsts, target.row);
        Value number = arith::IndexCastOp::create(
            builder, inner.loc, first.getType(), linearize(inner, update));
        Value isFirst = arith::CmpIOp::create(
            builder, inner.loc, arith::CmpIPredicate::eq, first, number);
        isFirst =
            arith::AndIOp::create(builder, inner.loc, isFirst, target.isInside);
        auto branch = scf::IfOp::create(
            builder, inner.loc, isFirst,
            [&](OpBuilder &nested, Location loc) {
              SmallVector<Value> its(place);
              its.push_back(target.row);
              scf::YieldOp::create(
                  nested, loc,
                  addList(LinalgBuilder{nested, loc}, sums, its, first, nexts));
            },
            [&](OpBuilder &nested, Location loc) {
              scf::YieldOp::create(nested, loc, sums);
            });
        return branch.getResult(0);
      });
}

Value Scatter::addByRows(LinalgBuilder b, Value table) {
  return b.carryThrough(ranked(table).getShape().take_front(batch), table,
                        [&](LinalgBuilder inner, ValueRange place, Value sums) {
                          return addRows(inner, sums, place);
                        });
}

static Value lower(ScatterAddOp op, LinalgBuilder b, ValueRange operands) {
  if (ranked(operands[1]).getNumElements() == 0)
    return operands[0];
  Scatter scatter(op, operands);
  Type element = op.getType().getElementType();
  return element == getComputeType(element) ? scatter.addEach(b, operands[0])
                                            : scatter.addByRows(b, operands[0]);
}

void pp::attachScatterLowerings(MLIRContext *context) {
  attachLowering<ScatterAddOp, lower>(context);
}
