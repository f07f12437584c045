//===- ElementRulesIndexing.cpp - indexed and serial ops ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// scatter_add works from the table's side: each element adds its updates, in
// the order of the indices and without atomic operations, so that the sum is
// the same every time (ScatterSearch.h).
//
//===----------------------------------------------------------------------===//
#include "../Scalars.h"
#include "ElementRulesDetail.h"
#include "ScatterSearch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace pp;
using namespace pp::gpu;

static Scalars getElements(const Question &q, GatherOp op) {
  const int64_t batch = op.getBatchDims();
  auto table = ranked(op.getOperand()), numbers = ranked(op.getIndices());
  if (q.place.crosses || (q.place.run >= 0 && q.place.run < numbers.getRank()))
    return {};
  ArrayRef<Index> indices(q.place.indices);
  Value number =
      q.askOne(1, q.elements.at(numbers.getShape(),
                                indices.take_front(numbers.getRank())));
  Indices from(indices.take_front(batch));
  from.push_back(q.elements.indices.clamped(number, table.getDimSize(batch)));
  llvm::append_range(from, indices.drop_front(numbers.getRank()));
  const int run =
      q.place.run < 0 ? -1 : q.place.run - numbers.getRank() + batch + 1;
  return q.ask(0, q.elements.at(table.getShape(), from, run));
}

/// Numbers as `type`, such as the one to sum in, or back again.
static Scalars converted(Elements &e, Scalars numbers, Type type) {
  for (Value &number : numbers)
    number = number.getType().isBF16() && type.isF32()
                 ? e.widen(number)
                 : emitConvert(e.b, e.loc, number, type);
  return numbers;
}

/// A number as an i64, to compare with indices of any type.
static Value widened(Elements &e, Value number) {
  return emitConvert(e.b, e.loc, number, e.b.getI64Type());
}
static Value widened(Elements &e, const Index &index) {
  Value value = e.indices.get(index);
  if (value.getType().isInteger(64))
    return value;
  return arith::ExtUIOp::create(e.b, e.loc, e.b.getI64Type(), value);
}

static Scalars getElements(const Question &q, ScatterAddOp op) {
  const int64_t batch = op.getBatchDims();
  if (q.place.crosses || (q.place.run >= 0 && q.place.run <= batch))
    return {};
  Elements &e = q.elements;
  const std::optional<Team> team = e.takeTeam();
  auto table = ranked(op), numbers = ranked(op.getIndices()),
       updates = ranked(op.getUpdates());
  ArrayRef<int64_t> picked = numbers.getShape().drop_front(batch);
  ArrayRef<Index> indices(q.place.indices);
  Type element = updates.getElementType(), compute = getComputeType(element);
  Scalars sums = converted(e, q.ask(0, q.place), compute);
  const SmallVector<Type> types(sums.size(), compute);
  /// The update of index number `step` of the place's batch.
  auto updatesOf = [&](const Index &step) {
    Indices from(indices.take_front(batch));
    llvm::append_range(from, e.indices.delinearize(step, picked));
    llvm::append_range(from, indices.drop_front(batch + 1));
    const int run =
        q.place.run < 0 ? -1 : q.place.run - batch - 1 + numbers.getRank();
    return q.ask(2, e.at(updates.getShape(), from, run));
  };
  auto with = [&](ValueRange carried, Scalars more) {
    more = converted(e, std::move(more), compute);
    for (auto [sum, update] : llvm::zip_equal(carried, more))
      update = emitCombine(e.b, e.loc, Reduction::Sum, sum, update);
    return more;
  };
  /// With the update, if it is for the place.
  auto add = [&](Value isHere, const Index &step, ValueRange carried) {
    return e.choose(
        isHere, types, [&] { return with(carried, updatesOf(step)); },
        [&] { return Scalars(carried); });
  };
  const SearchedIndices searched(op);
  if (searched.canShare()) {
    Index own = e.indices.linearize(indices.take_front(batch + 1),
                                    table.getShape().take_front(batch + 1));
    Type i32 = e.b.getI32Type();
    Value before =
        emitConvert(e.b, e.loc,
                    e.indices.get(e.indices.multiply(
                        e.indices.linearize(indices.take_front(batch),
                                            table.getShape().take_front(batch)),
                        searched.indices)),
                    i32);
    auto stepOf = [&](Value place) -> Value {
      return arith::SubIOp::create(e.b, e.loc, place, before);
    };
    auto numberAt = [&](const Index &place) {
      return widened(e, q.askOne(1, e.at(numbers.getShape(), place)));
    };
    auto addHits = [&](ArrayRef<Hit> hits, ValueRange carried) -> Scalars {
      if (hits.size() == 1)
        return add(hits[0].isHere,
                   e.indices.known(stepOf(hits[0].place), searched.indices),
                   carried);
      // All are read before any is added; who is not concerned reads the first.
      Value zero =
          arith::ConstantOp::create(e.b, e.loc, e.b.getI32IntegerAttr(0));
      SmallVector<Scalars> all;
      SmallVector<Value> some; // one of what a load reads
      for (const Hit &hit : hits) {
        Value step = arith::SelectOp::create(e.b, e.loc, hit.isHere,
                                             stepOf(hit.place), zero);
        all.push_back(updatesOf(e.indices.known(step, searched.indices)));
        some.push_back(all.back().front());
      }
      Value isFirst =
          arith::AndIOp::create(e.b, e.loc, hits[0].isHere, haveAll(e, some));
      Scalars now(carried);
      for (auto [number, more] : llvm::enumerate(all)) {
        Value isHere = number == 0 ? isFirst : hits[number].isHere;
        for (auto [sum, next] : llvm::zip_equal(now, with(now, more)))
          sum = arith::SelectOp::create(e.b, e.loc, isHere, next, sum);
      }
      return now;
    };
    Value row = emitConvert(e.b, e.loc, e.indices.get(own), i32);
    sums = team
               ? searchByBlock(e, *team, searched, row, sums, numberAt, addHits)
               : searchByWarp(e, searched, row, sums, numberAt, addHits);
    return converted(e, sums, element);
  }
  const int64_t count = ShapedType::getNumElements(picked);
  Value row = widened(e, indices[batch]);
  sums = e.loop(IndexBuilder::literal(count), sums,
                [&](const Index &step, ValueRange carried) {
                  Indices from(indices.take_front(batch));
                  llvm::append_range(from, e.indices.delinearize(step, picked));
                  Value number = q.askOne(1, e.at(numbers.getShape(), from));
                  Value isHere = arith::CmpIOp::create(e.b, e.loc,
                                                       arith::CmpIPredicate::eq,
                                                       widened(e, number), row);
                  return add(isHere, step, carried);
                });
  return converted(e, sums, element);
}

/// As many rounds as the place says: each finds the largest element behind that
/// of the round before, the larger first and, among equal ones, the earlier.
static Scalars getElements(const Question &q, TopKOp op) {
  if (q.place.run >= 0)
    return {};
  Elements &e = q.elements;
  const int64_t dim = op.getDimension();
  auto from = ranked(op.getOperand());
  Type i32 = e.b.getI32Type();
  auto literal = [&](Type type, int64_t number) {
    return arith::ConstantOp::create(e.b, e.loc,
                                     e.b.getIntegerAttr(type, number));
  };
  auto elementAt = [&](const Index &position) {
    Indices where = q.place.indices;
    where[dim] = position;
    return emitConvert(e.b, e.loc, q.askOne(0, e.at(from.getShape(), where)),
                       getComputeType(from.getElementType()));
  };
  auto isNot = [&](Value value) {
    return arith::XOrIOp::create(e.b, e.loc, value,
                                 literal(e.b.getI1Type(), 1));
  };
  auto either = [&](Value x, Value y) {
    return arith::OrIOp::create(e.b, e.loc, x, y);
  };
  auto choose = [&](Value condition, Value x, Value y) -> Value {
    return arith::SelectOp::create(e.b, e.loc, condition, x, y);
  };
  Scalars start = {elementAt(IndexBuilder::literal(0)), literal(i32, -1)};
  Index rounds = e.indices.add(q.place.indices[dim], IndexBuilder::literal(1));
  Scalars last = e.loop(rounds, start, [&](const Index &, ValueRange before) {
    Value isFirst = arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::slt,
                                          before[1], literal(i32, 0));
    Scalars none = {before[0], literal(i32, -1)};
    return e.loop(
        IndexBuilder::literal(from.getDimSize(dim)), none,
        [&](const Index &position, ValueRange best) -> Scalars {
          Value next = elementAt(position);
          Value number = e.indices.get(position);
          if (number.getType() != i32)
            number = arith::TruncIOp::create(e.b, e.loc, i32, number);
          Value isLater = arith::CmpIOp::create(
              e.b, e.loc, arith::CmpIPredicate::sgt, number, before[1]);
          Value isBehind =
              choose(isLater, isNot(emitIsLarger(e.b, e.loc, next, before[0])),
                     emitIsLarger(e.b, e.loc, before[0], next));
          Value isOnly = arith::CmpIOp::create(
              e.b, e.loc, arith::CmpIPredicate::slt, best[1], literal(i32, 0));
          Value isNext = arith::AndIOp::create(
              e.b, e.loc, either(isBehind, isFirst),
              either(isOnly, emitIsLarger(e.b, e.loc, next, best[0])));
          return {choose(isNext, next, best[0]),
                  choose(isNext, number, best[1])};
        });
  });
  return {last[1]};
}

/// Adds in order, as far as the place.
static Scalars getElements(const Question &q, CumsumOp op) {
  const int64_t dim = op.getDimension();
  if (q.place.crosses || q.place.run == dim)
    return {};
  Elements &e = q.elements;
  ArrayRef<int64_t> shape = op.getType().getShape();
  Type element = op.getType().getElementType(),
       compute = getComputeType(element);
  auto fromEnd = [&](const Index &index) {
    return op.getReverse() ? e.indices.mirror(index, shape[dim]) : index;
  };
  auto elementsAt = [&](const Index &position) {
    Indices where = q.place.indices;
    where[dim] = fromEnd(position);
    return converted(e, q.ask(0, e.at(shape, where, q.place.run)), compute);
  };
  Scalars all = e.loop(
      fromEnd(q.place.indices[dim]), elementsAt(IndexBuilder::literal(0)),
      [&](const Index &before, ValueRange sums) {
        Scalars next =
            elementsAt(e.indices.add(before, IndexBuilder::literal(1)));
        for (auto [sum, value] : llvm::zip_equal(sums, next))
          value = emitCombine(e.b, e.loc, Reduction::Sum, sum, value);
        return next;
      });
  return converted(e, all, element);
}

void pp::gpu::attachIndexingRules(MLIRContext *context) {
  attachRule<GatherOp, getElements>(context);
  attachRule<ScatterAddOp, getElements>(context);
  attachRule<TopKOp, getElements>(context);
  attachRule<CumsumOp, getElements>(context);
}
