//===- ElementRulesReduce.cpp - reductions and contractions ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// As one lane does them, which the lanes of a row do together where rows allow
// it (Rows.cpp). Narrow floats are summed in f32 and rounded
// once.
//
//===----------------------------------------------------------------------===//
#include "../Scalars.h"
#include "ElementRulesDetail.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pp;
using namespace pp::gpu;

static Reducer reducerOf(OpBuilder &b, ReduceOp op) {
  Location loc = op.getLoc();
  Type element = op.getType().getElementType(),
       compute = getComputeType(element);
  const Reduction reduction = op.getReduction();
  Reducer reducer;
  reducer.start = {getIdentity(reduction, compute)};
  reducer.combine = [&b, loc, reduction](ValueRange x,
                                         ValueRange y) -> Scalars {
    return {emitCombine(b, loc, reduction, x[0], y[0])};
  };
  reducer.wrap = [&b, loc, compute](Value value, const Index &) -> Scalars {
    return {emitConvert(b, loc, value, compute)};
  };
  reducer.finish = [&b, loc, element](ValueRange x) {
    return emitConvert(b, loc, x[0], element);
  };
  return reducer;
}

/// The larger element; among equal ones the first. An index that was not found
/// yet is behind all others.
static Reducer reducerOf(OpBuilder &b, ArgmaxOp op) {
  Location loc = op.getLoc();
  Type element = getComputeType(ranked(op.getOperand()).getElementType()),
       number = op.getType().getElementType();
  Reducer reducer;
  reducer.start = {getIdentity(Reduction::Max, element),
                   b.getIntegerAttr(number, -1)};
  reducer.combine = [&b, loc, number](ValueRange x, ValueRange y) -> Scalars {
    auto compare = [&](arith::CmpIPredicate predicate, Value l, Value r) {
      return arith::CmpIOp::create(b, loc, predicate, l, r);
    };
    auto isLess = arith::CmpIPredicate::slt;
    Value none = arith::ConstantOp::create(b, loc, b.getIntegerAttr(number, 0));
    Value isLarger = emitIsLarger(b, loc, y[0], x[0]),
          isSmaller = emitIsLarger(b, loc, x[0], y[0]);
    Value isFirst = compare(isLess, y[1], x[1]);
    Value one = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    Value isEqual = arith::XOrIOp::create(
        b, loc, arith::OrIOp::create(b, loc, isLarger, isSmaller), one);
    Value takes = arith::OrIOp::create(
        b, loc, isLarger, arith::AndIOp::create(b, loc, isEqual, isFirst));
    takes = arith::OrIOp::create(b, loc, takes, compare(isLess, x[1], none));
    Value isThere = compare(arith::CmpIPredicate::sge, y[1], none);
    takes = arith::AndIOp::create(b, loc, takes, isThere);
    Scalars result;
    for (auto [left, right] : llvm::zip_equal(x, y))
      result.push_back(arith::SelectOp::create(b, loc, takes, right, left));
    return result;
  };
  reducer.wrap = [&b, loc, number, element](Value value,
                                            const Index &position) -> Scalars {
    value = emitConvert(b, loc, value, element);
    if (position.isLiteral())
      return {value, arith::ConstantOp::create(
                         b, loc, b.getIntegerAttr(number, position.literal))};
    return {value, emitConvert(b, loc, position.value, number)};
  };
  reducer.finish = [](ValueRange x) { return x[1]; };
  return reducer;
}

Reducer pp::gpu::getReducer(OpBuilder &b, Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reducerOf(b, reduce);
  return reducerOf(b, cast<ArgmaxOp>(op));
}

SmallVector<int64_t> pp::gpu::getReducedDimensions(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return SmallVector<int64_t>(reduce.getDimensions());
  return {int64_t(cast<ArgmaxOp>(op).getDimension())};
}

/// A run goes along a kept dimension: a lane reduces as many side by side.
static Scalars reduceSerially(const Question &q) {
  if (q.place.crosses)
    return {};
  Elements &e = q.elements;
  auto from = ranked(q.op->getOperand(0));
  SmallVector<int64_t> dims = getReducedDimensions(q.op), sizes;
  for (int64_t dim : dims)
    sizes.push_back(from.getDimSize(dim));
  Reducer reducer = getReducer(e.b, q.op);
  const size_t parts = reducer.start.size();
  const int64_t count = e.count(q.place);
  Scalars start;
  for (int64_t lane = 0; lane < count; ++lane)
    for (TypedAttr attr : reducer.start)
      start.push_back(arith::ConstantOp::create(e.b, e.loc, attr));
  Scalars sums =
      e.loop(IndexBuilder::literal(ShapedType::getNumElements(sizes)), start,
             [&](const Index &step, ValueRange carried) {
               Indices reduced = e.indices.delinearize(step, sizes), where;
               size_t nextKept = 0, nextReduced = 0;
               int run = -1;
               for (int64_t dim = 0; dim < from.getRank(); ++dim) {
                 if (llvm::is_contained(dims, dim)) {
                   where.push_back(reduced[nextReduced++]);
                   continue;
                 }
                 if (int(nextKept) == q.place.run)
                   run = dim;
                 where.push_back(q.place.indices[nextKept++]);
               }
               Scalars elements = q.ask(0, e.at(from.getShape(), where, run)),
                       next;
               for (int64_t lane = 0; lane < count; ++lane)
                 llvm::append_range(
                     next, reducer.combine(carried.slice(lane * parts, parts),
                                           reducer.wrap(elements[lane], step)));
               return next;
             });
  Scalars result;
  for (int64_t lane = 0; lane < count; ++lane)
    result.push_back(
        reducer.finish(ValueRange(sums).slice(lane * parts, parts)));
  return result;
}

static Scalars getElements(const Question &q, ReduceOp) {
  return reduceSerially(q);
}
static Scalars getElements(const Question &q, ArgmaxOp) {
  return reduceSerially(q);
}

static Scalars getElements(const Question &q, DotGeneralOp op) {
  if (q.place.run >= 0)
    return {};
  Elements &e = q.elements;
  Type element = op.getType().getElementType(),
       compute = getComputeType(element);
  auto lhsType = ranked(op.getLhs()), rhsType = ranked(op.getRhs());
  Indices lhs(lhsType.getRank()), rhs(rhsType.getRank());
  size_t next = 0;
  for (auto [left, right] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
    lhs[left] = rhs[right] = q.place.indices[next++];
  for (int64_t dim : op.getLhsFree())
    lhs[dim] = q.place.indices[next++];
  for (int64_t dim : op.getRhsFree())
    rhs[dim] = q.place.indices[next++];
  SmallVector<int64_t> sizes;
  for (int64_t dim : op.getLhsContract())
    sizes.push_back(lhsType.getDimSize(dim));
  Value zero = arith::ConstantOp::create(e.b, e.loc,
                                         getIdentity(Reduction::Sum, compute));
  Scalars sum = e.loop(
      IndexBuilder::literal(ShapedType::getNumElements(sizes)), zero,
      [&](const Index &step, ValueRange carried) -> Scalars {
        Indices contracted = e.indices.delinearize(step, sizes);
        for (auto [left, right, index] : llvm::zip_equal(
                 op.getLhsContract(), op.getRhsContract(), contracted))
          lhs[left] = rhs[right] = index;
        Value x = q.askOne(0, e.at(lhsType.getShape(), lhs));
        Value y = q.askOne(1, e.at(rhsType.getShape(), rhs));
        Value product = emitCombine(e.b, e.loc, Reduction::Prod,
                                    emitConvert(e.b, e.loc, x, compute),
                                    emitConvert(e.b, e.loc, y, compute));
        return {emitCombine(e.b, e.loc, Reduction::Sum, carried[0], product)};
      });
  return {emitConvert(e.b, e.loc, sum[0], element)};
}

void pp::gpu::attachReduceRules(MLIRContext *context) {
  attachRule<ReduceOp, getElements>(context);
  attachRule<ArgmaxOp, getElements>(context);
  attachRule<DotGeneralOp, getElements>(context);
}
