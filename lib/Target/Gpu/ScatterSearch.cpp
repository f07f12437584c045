//===- ScatterSearch.cpp - finds the updates of rows ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each lane of a warp reads one of 32 indices and checks whether it is for a
// row of the warp, and the lanes go through those that are.
//
// If all threads of a block are present, they do so together: each warp looks
// at a part of the indices, whatever their rows, and writes those of the
// block's rows into shared memory. Most blocks of a large table have none: for
// 50257 x 768 of bf16 and 8192 indices each warp that searches alone reads 32
// KiB, which is 150 us of an H200, and its share of the block's search an
// eighth of that. One thread adds up a row with many indices (a blank in a
// text, or all tokens without a place at an expert), in order: it reads 16
// updates at once, where one after the other took 0.6 us each.
//
//===----------------------------------------------------------------------===//
#include "ScatterSearch.h"
#include "../Scalars.h"
#include "Lanes.h"
#include "Tiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "pp/IR/PaddedRows.h"
#include "pp/IR/Values.h"

using namespace mlir;
using namespace pp;
using namespace pp::gpu;
using Predicate = arith::CmpIPredicate;

SearchedIndices::SearchedIndices(ScatterAddOp op) {
  const int64_t batch = op.getBatchDims();
  ArrayRef<int64_t> table = ranked(op).getShape(),
                    numbers = ranked(op.getIndices()).getShape();
  entries = ShapedType::getNumElements(numbers.take_front(batch));
  indices = ShapedType::getNumElements(numbers.drop_front(batch));
  rows = table[batch];
  rowElements = ShapedType::getNumElements(table.drop_front(batch + 1));
  isNarrow =
      entries == 1 && ranked(op.getIndices()).getElementTypeBitWidth() <= 32;
}

bool SearchedIndices::canShare() const {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return rows > 0 && indices > 1 && entries * indices < kMost &&
         entries * rows < kMost;
}

namespace {

/// Operations that all lanes of `mask` do together.
class Search {
protected:
  Search(Elements &elements, const SearchedIndices &searched, NumberAt numberAt)
      : e(elements), b(elements.b), loc(elements.loc), i32(b.getI32Type()),
        searched(searched), numberAt(numberAt) {}

  Value literal(int64_t number) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(number));
  }
  template <typename Op> Value make(Value x, Value y) {
    return Op::create(b, loc, x, y);
  }
  Value plus(Value x, Value y) { return make<arith::AddIOp>(x, y); }
  Value plus(Value x, int64_t y) { return plus(x, literal(y)); }
  Value minus(Value x, Value y) { return make<arith::SubIOp>(x, y); }
  Value minus(Value x, int64_t y) { return minus(x, literal(y)); }
  Value times(Value x, Value y) { return make<arith::MulIOp>(x, y); }
  Value times(Value x, int64_t y) { return times(x, literal(y)); }
  Value over(Value x, Value y) { return make<arith::DivUIOp>(x, y); }
  Value over(Value x, int64_t y) { return over(x, literal(y)); }
  Value both(Value x, Value y) { return make<arith::AndIOp>(x, y); }
  Value either(Value x, Value y) { return make<arith::OrIOp>(x, y); }
  Value hasBits(Value bits) { return compare(Predicate::ne, bits, literal(0)); }
  Value compare(Predicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, predicate, x, y);
  }
  Value choose(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value countBits(Value bits) {
    return LLVM::CtPopOp::create(b, loc, i32, bits);
  }
  Value ofAll(NVVM::ReduxKind kind, Value value) {
    return NVVM::ReduxOp::create(b, loc, i32, value, kind, mask, false, false);
  }
  Value ofLane(Value value, Value lane) {
    return NVVM::ShflOp::create(b, loc, i32, mask, value, lane, literal(31),
                                NVVM::ShflKind::idx, UnitAttr());
  }
  /// A number of all lanes, of which each sees whether it is true of one.
  Value ballot(Value isTrue) {
    return NVVM::VoteSyncOp::create(b, loc, i32, mask, isTrue,
                                    NVVM::VoteSyncKind::ballot);
  }
  /// The number of the lowest bit; 31 if there is none.
  Value lowestBit(Value bits) {
    return LLVM::CountTrailingZerosOp::create(
        b, loc, i32, either(bits, literal(std::numeric_limits<int32_t>::min())),
        /*is_zero_poison=*/true);
  }
  Value withoutLowestBit(Value bits) { return both(bits, minus(bits, 1)); }
  /// Loops while there are bits: `body` gets them and the carried values, and
  /// returns the remaining bits and the new values.
  Scalars
  whileAny(Value bits, ValueRange carried,
           llvm::function_ref<Scalars(Value bits, ValueRange carried)> body) {
    SmallVector<Value> state{bits};
    llvm::append_range(state, carried);
    auto loop = scf::WhileOp::create(
        b, loc, ValueRange(state).getTypes(), state,
        [&](OpBuilder &, Location, ValueRange values) {
          scf::ConditionOp::create(b, loc, hasBits(values.front()), values);
        },
        [&](OpBuilder &, Location, ValueRange values) {
          Elements::Scope scope(e);
          scf::YieldOp::create(b, loc,
                               body(values.front(), values.drop_front()));
        });
    return Scalars(loop.getResults().drop_front());
  }
  /// The bits of `bits` that are below that of a lane.
  Value before(Value lane, Value bits) {
    return both(bits, minus(make<arith::ShLIOp>(literal(1), lane), 1));
  }

  Value entryOf(Value row, int64_t size) { return over(row, size); }
  /// The first index, and the one behind the last, of the entries of rows from
  /// `lowest` to `lowest + span`.
  std::pair<Value, Value> findIndices(Value lowest, Value span) {
    Value count = literal(searched.indices);
    if (searched.entries == 1)
      return {literal(0), count};
    Value last = entryOf(plus(lowest, span), searched.rows);
    return {times(entryOf(lowest, searched.rows), count),
            times(plus(last, 1), count)};
  }
  /// The index at a place, and the row of all entries that it says, if it says
  /// one.
  struct Read {
    Value number, row;
  };
  Read indexAt(Value place) {
    Value number =
        numberAt(e.indices.known(place, searched.entries * searched.indices));
    Value row = arith::TruncIOp::create(b, loc, i32, number);
    if (searched.entries > 1)
      row = plus(row, times(entryOf(place, searched.indices), searched.rows));
    return {number, row};
  }
  Value isRow(Value number) {
    return compare(
        Predicate::ult, number,
        arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(searched.rows)));
  }

  Elements &e;
  OpBuilder &b;
  Location loc;
  Type i32;
  const SearchedIndices searched;
  NumberAt numberAt;
  Value mask;
};

//===----------------------------------------------------------------------===//
// Warps
//===----------------------------------------------------------------------===//

/// Searches with the lanes that are present, which may be few. If none finds an
/// index among eight times as many, these are skipped at once.
class WarpSearch : Search {
  static constexpr int64_t kMostLanes = 32, kStretch = 8;

public:
  WarpSearch(Elements &elements, const SearchedIndices &searched,
             NumberAt numberAt)
      : Search(elements, searched, numberAt) {
    mask =
        LLVM::CallIntrinsicOp::create(
            b, loc, i32, b.getStringAttr("llvm.nvvm.activemask"), ValueRange())
            .getResult(0);
    count = countBits(mask);
    self = numberOf(NVVM::LaneIdOp::create(b, loc, i32));
  }

  Scalars visit(Value own, ValueRange sums, AddHits add);

private:
  /// How many of the lanes are before one.
  Value numberOf(Value lane) { return countBits(before(lane, mask)); }

  Value count, self;
};

Scalars WarpSearch::visit(Value own, ValueRange sums, AddHits add) {
  // From the lowest row of theirs to the highest: neighbours, as a rule.
  Value lowest = ofAll(NVVM::ReduxKind::UMIN, own),
        span = minus(ofAll(NVVM::ReduxKind::UMAX, own), lowest);
  Value begin, end;
  std::tie(begin, end) = findIndices(lowest, span);
  Value rounds = over(plus(minus(end, begin), minus(count, 1)), count);
  auto isNear = [&](Value row) {
    return compare(Predicate::ule, minus(row, lowest), span);
  };
  auto placeIn = [&](Value number) {
    return plus(begin, times(number, count));
  };
  auto round = [&](const Index &number, ValueRange carried) -> Scalars {
    Value first = placeIn(emitConvert(b, loc, e.indices.get(number), i32));
    Value mine = plus(first, self);
    Value isThere = compare(Predicate::ult, mine, end);
    mine = make<arith::MinUIOp>(mine, minus(end, 1));
    const Read index = indexAt(mine);
    Value row = index.row;
    Value found = ballot(both(isThere, both(isRow(index.number), isNear(row))));
    return whileAny(found, carried, [&](Value bits, ValueRange so) {
      Value lane = LLVM::CountTrailingZerosOp::create(b, loc, i32, bits,
                                                      /*is_zero_poison=*/true);
      Value target = ofLane(row, lane);
      Value place = plus(first, numberOf(lane));
      Scalars next{withoutLowestBit(bits)};
      const Hit hit{compare(Predicate::eq, target, own), place};
      llvm::append_range(next, add(hit, so));
      return next;
    });
  };
  const int64_t most = searched.entries * searched.indices + 1;
  if (searched.indices < 2 * kStretch * kMostLanes)
    return e.loop(e.indices.known(rounds, most), sums, round);
  // A few rounds at once, which only present lanes do one by one.
  auto stretch = [&](const Index &number, ValueRange carried) -> Scalars {
    Value first =
              times(emitConvert(b, loc, e.indices.get(number), i32), kStretch),
          mine = plus(placeIn(first), self);
    Value isAny;
    for (int64_t i = 0; i < kStretch; ++i) {
      Value isHere = isNear(indexAt(mine).row);
      isAny = i == 0 ? isHere : either(isAny, isHere);
      mine = plus(mine, count);
    }
    return e.choose(
        hasBits(ballot(isAny)), ValueRange(carried).getTypes(),
        [&] {
          Value last = plus(first, kStretch);
          return e.loop(e.indices.known(first, most),
                        e.indices.known(last, most), 1, carried, round);
        },
        [&] { return Scalars(carried); });
  };
  Value whole = over(over(minus(end, begin), count), kStretch);
  Scalars after = e.loop(e.indices.known(whole, most), sums, stretch);
  return e.loop(e.indices.known(times(whole, kStretch), most),
                e.indices.known(rounds, most), 1, after, round);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

class BlockSearch : Search {
  /// Indices that a thread looks at before the block meets.
  static constexpr int64_t kMostEach = 16;
  /// Updates that are read at once.
  static constexpr int64_t kMany = 16, kFew = 4;

public:
  BlockSearch(Elements &elements, const Team &team,
              const SearchedIndices &searched, NumberAt numberAt);

  Scalars visit(Value own, ValueRange sums, AddHits add);

private:
  /// How many of a warp's indices are for the block's rows; of each of a lane's
  /// indices, which lanes'.
  struct Found {
    Value count;
    SmallVector<Value> lanes;
  };
  Value valueOf(const Index &index) {
    return emitConvert(b, loc, e.indices.get(index), i32);
  }
  Value addressIn(Value room, Value index) {
    return LLVM::GEPOp::create(b, loc, room.getType(), i32, room,
                               ArrayRef<LLVM::GEPArg>{index},
                               LLVM::GEPNoWrapFlags::inbounds);
  }
  Value load(Value room, Value index) {
    return LLVM::LoadOp::create(b, loc, i32, addressIn(room, index), 4);
  }
  void store(Value room, Value index, Value value) {
    LLVM::StoreOp::create(b, loc, value, addressIn(room, index), 4);
  }
  void meet() { NVVM::Barrier0Op::create(b, loc); }
  Value isNear(Value row) {
    return compare(Predicate::ule, minus(row, lowest), span);
  }

  Found look(Value first);
  std::pair<Value, Value> handOver(Value count, Value number);
  void writeDown(const Found &found, Value first, Value place);
  Scalars goThrough(Value total, Value own, ValueRange sums, AddHits add);
  Scalars take(int64_t most, Value &left, Value place, Value row, Value own,
               ValueRange sums, AddHits add);

  int64_t warps, each;
  /// Whether lanes of a warp always have one row.
  bool isOneRow;
  Value warp, lane;
  /// Rows of the block, and indices of their entries.
  Value lowest, span, begin, end;
  /// Shared memory for the finds of each warp, alternating, and their places.
  Value counts, places;
};

BlockSearch::BlockSearch(Elements &elements, const Team &team,
                         const SearchedIndices &searched, NumberAt numberAt)
    : Search(elements, searched, numberAt), warps(team.threads / kWarp),
      each(std::clamp<int64_t>(llvm::divideCeil(searched.indices, team.threads),
                               1, kMostEach)),
      isOneRow(searched.rowElements % (kWarp * e.getWidth()) == 0) {
  mask = literal(-1);
  warp = valueOf(e.indices.divide(team.thread, kWarp));
  lane = valueOf(e.indices.remainder(team.thread, kWarp));
  auto rowOf = [&](const Index &run) {
    return valueOf(e.indices.divide(e.indices.multiply(run, e.getWidth()),
                                    searched.rowElements));
  };
  Index first = e.indices.limit(team.first, team.runs - 1),
        last = e.indices.add(first, IndexBuilder::literal(team.threads - 1));
  lowest = rowOf(first);
  span = minus(rowOf(e.indices.limit(last, team.runs - 1)), lowest);
  std::tie(begin, end) = findIndices(lowest, span);
  counts = e.getRoom("counts", 2 * warps * 4);
  places = e.getRoom("places", team.threads * each * 4);
}

/// Each lane at those from `first` on that are as many apart as there are
/// lanes.
BlockSearch::Found BlockSearch::look(Value first) {
  Value last = minus(end, 1), isAny;
  SmallVector<Value> mine;
  SmallVector<Read> numbers;
  for (int64_t number = 0; number < each; ++number) {
    mine.push_back(plus(first, number * kWarp));
    numbers.push_back(indexAt(make<arith::MinUIOp>(mine.back(), last)));
    Value isHere = isNear(numbers.back().row);
    isAny = number == 0 ? isHere : either(isAny, isHere);
  }
  SmallVector<Type> types(1 + each, i32);
  Scalars found = e.choose(
      hasBits(ballot(isAny)), types,
      [&] {
        Scalars some{literal(0)};
        for (auto [place, read] : llvm::zip_equal(mine, numbers)) {
          Value isHere =
              both(isNear(read.row), compare(Predicate::ult, place, end));
          if (!searched.isNarrow)
            isHere = both(isHere, isRow(read.number));
          some.push_back(ballot(isHere));
          some[0] = plus(some[0], countBits(some.back()));
        }
        return some;
      },
      [&] { return Scalars(types.size(), literal(0)); });
  return {found.front(), SmallVector<Value>(llvm::drop_begin(found))};
}

/// Counts the finds of the warps before this one, and of all. A thread in a
/// turn has read the finds of the turn before the last.
std::pair<Value, Value> BlockSearch::handOver(Value count, Value number) {
  Value room = times(both(number, literal(1)), warps);
  e.onlyIf(compare(Predicate::eq, lane, literal(0)),
           [&] { store(counts, plus(room, warp), count); });
  meet();
  Value before = literal(0), all = literal(0);
  for (int64_t other = 0; other < warps; ++other) {
    Value next = load(counts, plus(room, other));
    all = plus(all, next);
    if (other + 1 < warps)
      before =
          choose(compare(Predicate::ugt, warp, literal(other)), all, before);
  }
  return {before, all};
}

/// Writes the places of a warp's finds, in order, from `place` on.
void BlockSearch::writeDown(const Found &found, Value first, Value place) {
  for (auto [number, lanes] : llvm::enumerate(found.lanes)) {
    Value isMine = hasBits(both(lanes, make<arith::ShLIOp>(literal(1), lane)));
    e.onlyIf(isMine, [&, lanes = lanes, number = number] {
      store(places, plus(place, countBits(before(lane, lanes))),
            plus(first, number * kWarp));
    });
    place = plus(place, countBits(lanes));
  }
}

/// The next `most` lanes' of `left`, or those that there are.
Scalars BlockSearch::take(int64_t most, Value &left, Value place, Value row,
                          Value own, ValueRange sums, AddHits add) {
  SmallVector<Hit> hits;
  for (int64_t number = 0; number < most; ++number) {
    Value next = lowestBit(left);
    Value isHere;
    if (most > 1)
      isHere = hasBits(left);
    if (!isOneRow) {
      Value isOwn = compare(Predicate::eq, ofLane(row, next), own);
      isHere = isHere ? both(isHere, isOwn) : isOwn;
    } else if (!isHere) {
      isHere = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    }
    hits.push_back({isHere, ofLane(place, next)});
    left = withoutLowestBit(left);
  }
  return add(hits, sums);
}

/// Goes through the recorded finds, 32 at once for each warp, and skips those
/// for other rows of the block.
Scalars BlockSearch::goThrough(Value total, Value own, ValueRange sums,
                               AddHits add) {
  Value mine = isOneRow ? own : ofAll(NVVM::ReduxKind::UMIN, own),
        mineSpan = isOneRow ? literal(0)
                            : minus(ofAll(NVVM::ReduxKind::UMAX, own), mine);
  const int64_t most = warps * kWarp * each + 1;
  auto round = [&](const Index &base, ValueRange carried) -> Scalars {
    Value number = plus(valueOf(base), lane);
    Value isThere = compare(Predicate::ult, number, total);
    number = choose(isThere, number, literal(0));
    Value place = load(places, number), row = indexAt(place).row;
    Value isOurs = compare(Predicate::ule, minus(row, mine), mineSpan);
    Value ours = ballot(both(isThere, isOurs));
    return whileAny(ours, carried, [&](Value bits, ValueRange so) {
      Value count = countBits(bits);
      auto takeSome = [&](int64_t hits) {
        Value left = bits;
        Scalars now = take(hits, left, place, row, own, so, add);
        now.insert(now.begin(), left);
        return now;
      };
      SmallVector<Type> types{i32};
      llvm::append_range(types, so.getTypes());
      return e.choose(
          compare(Predicate::ule, count, literal(1)), types,
          [&] { return takeSome(1); },
          [&] {
            return e.choose(
                compare(Predicate::ule, count, literal(2 * kFew)), types,
                [&] { return takeSome(kFew); },
                [&] { return takeSome(kMany); });
          });
    });
  };
  return e.loop(IndexBuilder::literal(0), e.indices.known(total, most), kWarp,
                sums, round);
}

Scalars BlockSearch::visit(Value own, ValueRange sums, AddHits add) {
  const int64_t part = warps * kWarp * each;
  Value count = minus(end, begin);
  Value turns = over(plus(count, part - 1), part);
  Value firstOfLane = plus(plus(begin, lane), times(warp, kWarp * each));
  const int64_t most = searched.entries * searched.indices + 1;
  Scalars all =
      e.loop(e.indices.known(turns, most), sums,
             [&](const Index &turn, ValueRange carried) -> Scalars {
               Value number = valueOf(turn);
               Value first = plus(firstOfLane, times(number, part));
               const Found found = look(first);
               const auto [place, total] = handOver(found.count, number);
               return e.choose(
                   hasBits(total), ValueRange(carried).getTypes(),
                   [&, place = place, total = total] {
                     e.onlyIf(hasBits(found.count),
                              [&] { writeDown(found, first, place); });
                     meet();
                     return goThrough(total, own, carried, add);
                   },
                   [&] { return Scalars(carried); });
             });
  meet(); // before the next run's turns, and before anything is overwritten
  return all;
}

} // namespace

Scalars pp::gpu::searchByWarp(Elements &e, const SearchedIndices &searched,
                              Value own, ValueRange sums, NumberAt numberAt,
                              AddHits add) {
  return WarpSearch(e, searched, numberAt).visit(own, sums, add);
}

bool pp::gpu::isBlockSearch(func::FuncOp kernel, int64_t width) {
  constexpr int64_t kLeastIndices = 32;
  Operation *end = kernel.getBody().front().getTerminator();
  if (end->getNumOperands() != 1)
    return false;
  auto op = end->getOperand(0).getDefiningOp<ScatterAddOp>();
  if (!op)
    return false;
  const SearchedIndices searched(op);
  ArrayRef<int64_t> behind =
      ranked(op).getShape().drop_front(op.getBatchDims() + 1);
  while (behind.size() > 1 && behind.back() == 1)
    behind = behind.drop_back();
  return searched.canShare() && searched.indices >= kLeastIndices &&
         searched.rowElements > 0 && !findTile(op, width) &&
         (width == 1 ||
          (!behind.empty() && behind.back() > 1 && behind.back() % width == 0));
}

Value pp::gpu::haveAll(Elements &e, ArrayRef<Value> values) {
  OpBuilder &b = e.b;
  Type i32 = b.getI32Type();
  auto literal = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(b, e.loc, b.getI32IntegerAttr(number));
  };
  Value all = literal(0);
  for (Value value : values) {
    Type bits = b.getIntegerType(value.getType().getIntOrFloatBitWidth());
    if (value.getType() != bits)
      value = arith::BitcastOp::create(b, e.loc, bits, value);
    all =
        arith::OrIOp::create(b, e.loc, all, emitConvert(b, e.loc, value, i32));
  }
  Value again = NVVM::ShflOp::create(
      b, e.loc, i32, literal(-1), all, NVVM::LaneIdOp::create(b, e.loc, i32),
      literal(kWarp - 1), NVVM::ShflKind::idx, UnitAttr());
  return arith::CmpIOp::create(b, e.loc, Predicate::eq, all, again);
}

Scalars pp::gpu::searchByBlock(Elements &e, const Team &team,
                               const SearchedIndices &searched, Value own,
                               ValueRange sums, NumberAt numberAt,
                               AddHits add) {
  return BlockSearch(e, team, searched, numberAt).visit(own, sums, add);
}
