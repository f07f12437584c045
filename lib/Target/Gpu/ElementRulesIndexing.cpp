//===- ElementRulesIndexing.cpp - indexed and serial ops ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// scatter_add asks from the table's side: each element adds what is for it, in
// the order of the indices and without atomic operations, so that the sum is
// the same every time. Lanes of a warp look through the indices together: each
// reads one of 32 and says whether it is for a row of theirs, and they go
// through those that are. Where nobody has one among eight times as many, which
// is so for most rows of a large table, these are passed over at once: for a
// table of 50257 x 768 and 8192 indices that is 32 times some 60 instructions
// for each of 301,542 warps, where 256 rounds of 20 took 1.9 ms of an H200.
//
//===----------------------------------------------------------------------===//
#include "../LinalgScalars.h"
#include "ElementRulesDetail.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace pp;
using namespace pp::gpu;

Scalars pp::gpu::gather(const Question &q, GatherOp op) {
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
    number = emitConvert(e.b, e.loc, number, type);
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

namespace {

/// Lanes of a warp that go through indices together: those that are here, which
/// may be few where others have nothing to do.
class Searchers {
  static constexpr int64_t kMostLanes = 32, kStretch = 8;

public:
  explicit Searchers(Elements &elements)
      : e(elements), b(elements.b), loc(elements.loc), i32(b.getI32Type()) {
    mask =
        LLVM::CallIntrinsicOp::create(
            b, loc, i32, b.getStringAttr("llvm.nvvm.activemask"), ValueRange())
            .getResult(0);
    count = LLVM::CtPopOp::create(b, loc, i32, mask);
    self = numberOf(NVVM::LaneIdOp::create(b, loc, i32));
  }

  /// Calls `add` for each of the indices of `numbers` that is for row `own` of
  /// a lane, in order, with a place among them. `rows`, and as many indices,
  /// belong to each entry of a batch.
  Scalars
  visit(Value own, int64_t batch, int64_t rows, int64_t indices,
        ValueRange sums, llvm::function_ref<Value(const Index &place)> numberAt,
        llvm::function_ref<Scalars(Value isHere, Value place, ValueRange sums)>
            add);

private:
  Value literal(int64_t number) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(number));
  }
  template <typename Op> Value make(Value x, Value y) {
    return Op::create(b, loc, x, y);
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  }
  Value ofAll(NVVM::ReduxKind kind, Value value) {
    return NVVM::ReduxOp::create(b, loc, i32, value, kind, mask, false, false);
  }
  /// How many of the lanes are before one.
  Value numberOf(Value lane) {
    Value before =
        make<arith::SubIOp>(make<arith::ShLIOp>(literal(1), lane), literal(1));
    return LLVM::CtPopOp::create(b, loc, i32,
                                 make<arith::AndIOp>(mask, before));
  }

  /// A number of all lanes, of which each sees whether it is true of one.
  Value ballot(Value isTrue) {
    return NVVM::VoteSyncOp::create(b, loc, i32, mask, isTrue,
                                    NVVM::VoteSyncKind::ballot);
  }
  Elements &e;
  OpBuilder &b;
  Location loc;
  Type i32;
  Value mask, count, self;
};

Scalars
Searchers::visit(Value own, int64_t batch, int64_t rows, int64_t indices,
                 ValueRange sums,
                 llvm::function_ref<Value(const Index &)> numberAt,
                 llvm::function_ref<Scalars(Value, Value, ValueRange)> add) {
  using Predicate = arith::CmpIPredicate;
  // From the lowest row of theirs to the highest: neighbours, as a rule.
  Value lowest = ofAll(NVVM::ReduxKind::UMIN, own),
        span = make<arith::SubIOp>(ofAll(NVVM::ReduxKind::UMAX, own), lowest);
  Value begin = literal(0), end = literal(indices);
  auto entryOf = [&](Value row, int64_t size) {
    return make<arith::DivUIOp>(row, literal(size));
  };
  if (batch > 1) {
    begin = make<arith::MulIOp>(entryOf(lowest, rows), literal(indices));
    Value last = entryOf(make<arith::AddIOp>(lowest, span), rows);
    end = make<arith::MulIOp>(make<arith::AddIOp>(last, literal(1)),
                              literal(indices));
  }
  Value rounds = make<arith::DivUIOp>(
      make<arith::AddIOp>(make<arith::SubIOp>(end, begin),
                          make<arith::SubIOp>(count, literal(1))),
      count);
  /// The index at place `mine`, and the row of all entries that it says, if it
  /// says one.
  auto indexAt = [&](Value mine) {
    Value number = widened(e, numberAt(e.indices.known(mine, batch * indices)));
    Value row = arith::TruncIOp::create(b, loc, i32, number);
    if (batch > 1)
      row = make<arith::AddIOp>(
          row, make<arith::MulIOp>(entryOf(mine, indices), literal(rows)));
    return std::pair(number, row);
  };
  auto isNear = [&](Value row) {
    return compare(Predicate::ule, make<arith::SubIOp>(row, lowest), span);
  };
  auto placeIn = [&](Value number) {
    return make<arith::AddIOp>(begin, make<arith::MulIOp>(number, count));
  };
  auto round = [&](const Index &number, ValueRange carried) -> Scalars {
    Value first = placeIn(emitConvert(b, loc, e.indices.get(number), i32));
    Value mine = make<arith::AddIOp>(first, self);
    Value isThere = compare(Predicate::ult, mine, end);
    mine = make<arith::MinUIOp>(mine, make<arith::SubIOp>(end, literal(1)));
    const std::pair<Value, Value> index = indexAt(mine);
    Value number64 = index.first, row = index.second;
    Value isRow =
        compare(Predicate::ult, number64,
                arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(rows)));
    Value found = ballot(
        make<arith::AndIOp>(isThere, make<arith::AndIOp>(isRow, isNear(row))));
    SmallVector<Value> state{found};
    llvm::append_range(state, carried);
    auto loop = scf::WhileOp::create(
        b, loc, ValueRange(state).getTypes(), state,
        [&](OpBuilder &, Location, ValueRange values) {
          scf::ConditionOp::create(
              b, loc, compare(Predicate::ne, values.front(), literal(0)),
              values);
        },
        [&](OpBuilder &, Location, ValueRange values) {
          Elements::Scope scope(e);
          Value lane = LLVM::CountTrailingZerosOp::create(
              b, loc, i32, values.front(), /*is_zero_poison=*/true);
          Value target =
              NVVM::ShflOp::create(b, loc, i32, mask, row, lane, literal(31),
                                   NVVM::ShflKind::idx, UnitAttr());
          Value place = make<arith::AddIOp>(first, numberOf(lane));
          Scalars next{make<arith::AndIOp>(
              values.front(), make<arith::SubIOp>(values.front(), literal(1)))};
          llvm::append_range(next, add(compare(Predicate::eq, target, own),
                                       place, values.drop_front()));
          scf::YieldOp::create(b, loc, next);
        });
    return Scalars(loop.getResults().drop_front());
  };
  const int64_t most = batch * indices + 1;
  if (indices < 2 * kStretch * kMostLanes)
    return e.loop(e.indices.known(rounds, most), sums, round);
  // A few rounds at once, that are done one by one only for who is there.
  auto stretch = [&](const Index &number, ValueRange carried) -> Scalars {
    Value first = make<arith::MulIOp>(
              emitConvert(b, loc, e.indices.get(number), i32),
              literal(kStretch)),
          mine = make<arith::AddIOp>(placeIn(first), self);
    Value isAny;
    for (int64_t i = 0; i < kStretch; ++i) {
      Value isHere = isNear(indexAt(mine).second);
      isAny = i == 0 ? isHere : make<arith::OrIOp>(isAny, isHere);
      mine = make<arith::AddIOp>(mine, count);
    }
    return e.choose(
        compare(Predicate::ne, ballot(isAny), literal(0)),
        ValueRange(carried).getTypes(),
        [&] {
          Value last = make<arith::AddIOp>(first, literal(kStretch));
          return e.loop(e.indices.known(first, most),
                        e.indices.known(last, most), 1, carried, round);
        },
        [&] { return Scalars(carried); });
  };
  Value whole = make<arith::DivUIOp>(
      make<arith::DivUIOp>(make<arith::SubIOp>(end, begin), count),
      literal(kStretch));
  Scalars after = e.loop(e.indices.known(whole, most), sums, stretch);
  return e.loop(
      e.indices.known(make<arith::MulIOp>(whole, literal(kStretch)), most),
      e.indices.known(rounds, most), 1, after, round);
}

} // namespace

Scalars pp::gpu::scatterAdd(const Question &q, ScatterAddOp op) {
  const int64_t batch = op.getBatchDims();
  if (q.place.crosses || (q.place.run >= 0 && q.place.run <= batch))
    return {};
  Elements &e = q.elements;
  auto table = ranked(op), numbers = ranked(op.getIndices()),
       updates = ranked(op.getUpdates());
  ArrayRef<int64_t> picked = numbers.getShape().drop_front(batch);
  ArrayRef<Index> indices(q.place.indices);
  Type element = updates.getElementType(), compute = getComputeType(element);
  Scalars sums = converted(e, q.ask(0, q.place), compute);
  const SmallVector<Type> types(sums.size(), compute);
  /// With the update of index number `step` of the place's batch, if it is for
  /// the place.
  auto add = [&](Value isHere, const Index &step, ValueRange carried) {
    Indices from(indices.take_front(batch));
    llvm::append_range(from, e.indices.delinearize(step, picked));
    llvm::append_range(from, indices.drop_front(batch + 1));
    const int run =
        q.place.run < 0 ? -1 : q.place.run - batch - 1 + numbers.getRank();
    return e.choose(
        isHere, types,
        [&] {
          Scalars more = converted(
              e, q.ask(2, e.at(updates.getShape(), from, run)), compute);
          for (auto [sum, update] : llvm::zip_equal(carried, more))
            update = emitCombine(e.b, e.loc, Reduction::Sum, sum, update);
          return more;
        },
        [&] { return Scalars(carried); });
  };
  const int64_t count = ShapedType::getNumElements(picked),
                rows = table.getDimSize(batch),
                entries = ShapedType::getNumElements(
                    numbers.getShape().take_front(batch));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (rows > 0 && count > 1 && entries * count < kMost &&
      entries * rows < kMost) {
    Index own = e.indices.linearize(indices.take_front(batch + 1),
                                    table.getShape().take_front(batch + 1));
    Type i32 = e.b.getI32Type();
    Value before =
        emitConvert(e.b, e.loc,
                    e.indices.get(e.indices.multiply(
                        e.indices.linearize(indices.take_front(batch),
                                            table.getShape().take_front(batch)),
                        count)),
                    i32);
    sums = Searchers(e).visit(
        emitConvert(e.b, e.loc, e.indices.get(own), i32), entries, rows, count,
        sums,
        [&](const Index &place) {
          return q.askOne(1, e.at(numbers.getShape(), place));
        },
        [&](Value isHere, Value place, ValueRange carried) {
          Value step = arith::SubIOp::create(e.b, e.loc, place, before);
          return add(isHere, e.indices.known(step, count), carried);
        });
    return converted(e, sums, element);
  }
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

/// Rounds, as many as the place says: each finds the largest element behind the
/// one of the round before, the larger first and, of equal ones, the earlier.
Scalars pp::gpu::topK(const Question &q, TopKOp op) {
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
Scalars pp::gpu::cumsum(const Question &q, CumsumOp op) {
  const int64_t dim = op.getDimension();
  if (q.place.crosses || q.place.run == dim)
    return {};
  Elements &e = q.elements;
  ArrayRef<int64_t> shape = op.getType().getShape();
  Type element = op.getType().getElementType(),
       compute = getComputeType(element);
  const int64_t last = shape[dim] - 1;
  auto fromEnd = [&](const Index &index) {
    if (!op.getReverse())
      return index;
    if (index.isLiteral())
      return IndexBuilder::literal(last - index.literal);
    Value value = arith::SubIOp::create(e.b, e.loc, e.indices.getLiteral(last),
                                        e.indices.get(index));
    return e.indices.known(value, last + 1);
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
