//===- Rows.cpp - a kernel whose rows are computed by lanes ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Rows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "pp/Analysis/InPlace.h"
#include "pp/IR/PP.h"
#include "pp/IR/Values.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pp;
using namespace pp::gpu;

namespace {

class Rows {
public:
  Rows(Elements &elements, const RowParts &parts, const RowMapping &mapping,
       Value block, Value thread)
      : e(elements), parts(parts), mapping(mapping),
        lanes(elements, thread, mapping.block(), mapping.lanes,
              mapping.handedBytes) {
    const int64_t blocks = llvm::divideCeil(parts.rows, mapping.rowsPerBlock);
    Index first = e.indices.multiply(e.indices.known(block, blocks),
                                     mapping.rowsPerBlock);
    Index wanted = e.indices.add(first, lanes.row());
    row = e.indices.limit(wanted, parts.rows - 1);
    if (wanted.bound > parts.rows)
      isRow = below(wanted, parts.rows);
    e.setLookup(
        [this](Value value, const Place &place, const RowLayout *layout) {
          return lookup(value, place, layout);
        });
  }
  ~Rows() { e.setLookup(nullptr); }

  void computeReductions();
  void store(ArrayRef<Destination> destinations);

private:
  /// Values that the lanes have computed together.
  struct Computed {
    RowLayout layout;
    Scalars scalar; ///< in registers, if it is one element
    Value room;     ///< else in shared memory
    Type element;
  };

  Value below(const Index &index, int64_t end) {
    return arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::ult,
                                 e.indices.get(index),
                                 e.indices.getLiteral(end));
  }
  /// The start of the row's part.
  Index startOf(const RowDigit &digit);
  /// The place in a tensor of local element `local`.
  const Place &placeOf(RankedTensorType type, const RowLayout &layout,
                       const Index &local, bool isRun);
  Scalars lookup(Value value, const Place &place, const RowLayout *layout);
  /// Over all elements of a part, in turns: each lane takes the next run, or
  /// element. The body gets whether the element counts (null: it does).
  Scalars overPart(
      int64_t size, int64_t step, ValueRange carried,
      llvm::function_ref<Scalars(const Index &local, Value counts, ValueRange)>
          body);
  Value reduceAlong(const RowSum &sum);
  void reduceAcross(ArrayRef<const RowSum *> sums);
  Index globalIndex(const RowDigit &digit, const Index &local) {
    return e.indices.add(startOf(digit), local);
  }

  Elements &e;
  const RowParts &parts;
  const RowMapping &mapping;
  Lanes lanes;
  Index row;
  Value isRow; ///< null: it always is
  DenseMap<Value, SmallVector<Computed>> computed;
};

Index Rows::startOf(const RowDigit &digit) {
  Index start = e.indices.divide(row, digit.divisor);
  return e.indices.multiply(e.indices.remainder(start, digit.modulus),
                            digit.tile);
}

static SmallVector<int64_t> tilesOf(const RowLayout &layout) {
  return llvm::map_to_vector(layout, [](RowDigit digit) { return digit.tile; });
}

const Place &Rows::placeOf(RankedTensorType type, const RowLayout &layout,
                           const Index &local, bool isRun) {
  SmallVector<int64_t> tiles = tilesOf(layout);
  Indices where = e.indices.delinearize(local, tiles);
  int run = -1;
  for (auto [dim, digit] : llvm::enumerate(layout)) {
    where[dim] = globalIndex(digit, where[dim]);
    if (isRun && digit.tile > 1)
      run = dim;
  }
  return e.at(type.getShape(), where, run);
}

Scalars Rows::lookup(Value value, const Place &place, const RowLayout *layout) {
  auto found = computed.find(value);
  if (found == computed.end() || !layout)
    return {};
  for (const Computed &known : found->second) {
    if (known.layout != *layout)
      continue;
    if (!known.scalar.empty())
      return Scalars(e.count(place), known.scalar.front());
    if (place.run >= 0) {
      Scalars all;
      for (int64_t number = 0; number < e.count(place); ++number)
        all.append(lookup(value, e.one(place, number), layout));
      return all;
    }
    Indices local;
    for (auto [digit, index] : llvm::zip_equal(known.layout, place.indices)) {
      if (digit.isWhole())
        local.push_back(index);
      else if (digit.tile == 1)
        local.push_back(IndexBuilder::literal(0));
      else
        local.push_back(e.indices.known(
            arith::SubIOp::create(e.b, e.loc, e.indices.get(index),
                                  e.indices.get(startOf(digit))),
            digit.tile));
    }
    Index index = e.indices.linearize(local, tilesOf(known.layout));
    Index base = e.indices.multiply(lanes.row(), countElements(known.layout));
    return {lanes.loadShared(known.room, known.element,
                             e.indices.add(base, index))};
  }
  return {};
}

Scalars Rows::overPart(
    int64_t size, int64_t step, ValueRange carried,
    llvm::function_ref<Scalars(const Index &, Value counts, ValueRange)> body) {
  const int64_t turn = lanes.count() * step,
                turns = llvm::divideCeil(size, turn);
  auto takeTurn = [&](const Index &base, bool isFull, ValueRange now) {
    Index local = e.indices.add(base, e.indices.multiply(lanes.lane(), step));
    return body(isFull ? local : e.indices.limit(local, size - step),
                isFull ? Value() : below(local, size), now);
  };
  if (turns * step <= mapping.inRegisters) {
    Scalars now(carried);
    for (int64_t number = 0; number < turns; ++number)
      now = takeTurn(IndexBuilder::literal(number * turn),
                     (number + 1) * turn <= size, now);
    return now;
  }
  const int64_t full = size / turn * turn;
  Scalars now(carried);
  if (full > 0)
    now = e.loop(IndexBuilder::literal(0), IndexBuilder::literal(full), turn,
                 carried, [&](const Index &base, ValueRange before) {
                   return takeTurn(base, true, before);
                 });
  // Some lanes have one more turn: only here elements may not count.
  return full < size ? takeTurn(IndexBuilder::literal(full), false, now) : now;
}

/// All lanes along the reduced dimension, to one element.
Value Rows::reduceAlong(const RowSum &sum) {
  const Reducer reducer = getReducer(e.b, sum.op);
  const RowLayout &operand = sum.operand;
  Value from = sum.op->getOperand(0);
  auto type = cast<RankedTensorType>(from.getType());
  SmallVector<int64_t> dims = getReducedDimensions(sum.op), sizes;
  for (int64_t dim : dims)
    sizes.push_back(operand[dim].tile);
  const int64_t size = ShapedType::getNumElements(sizes), width = e.getWidth();
  const bool isRun = width > 1 && sizes.back() % width == 0;
  Scalars start;
  for (TypedAttr attr : reducer.start)
    start.push_back(arith::ConstantOp::create(e.b, e.loc, attr));
  Scalars mine = overPart(
      size, isRun ? width : 1, start,
      [&](const Index &local, Value counts, ValueRange carried) {
        Indices reduced = e.indices.delinearize(local, sizes), where;
        size_t next = 0;
        for (int64_t dim = 0; dim < type.getRank(); ++dim)
          where.push_back(
              globalIndex(operand[dim], llvm::is_contained(dims, dim)
                                            ? reduced[next++]
                                            : IndexBuilder::literal(0)));
        const Place &place =
            e.at(type.getShape(), where, isRun ? int(dims.back()) : -1);
        Scalars elements = e.get(from, place, &operand);
        Scalars all(carried);
        for (auto [number, element] : llvm::enumerate(elements)) {
          Scalars next = reducer.wrap(
              element, e.indices.add(local, e.indices.literal(number)));
          if (counts)
            for (auto [value, none] : llvm::zip_equal(next, start))
              value = arith::SelectOp::create(e.b, e.loc, counts, value, none);
          all = reducer.combine(all, next);
        }
        return all;
      });
  return reducer.finish(lanes.combine(reducer, mine));
}

/// Neighbouring lanes along the kept dimension, the others along the reduced
/// one. A lane has a run of the last dimension in memory, if that is whole
/// vectors: of kept elements, or one after the other of reduced ones. `sums`
/// see the same parts of their operands, and go through them together.
void Rows::reduceAcross(ArrayRef<const RowSum *> sums) {
  const RowSum &sum = *sums.front();
  const RowLayout &layout = sum.layout, &operand = sum.operand;
  auto type = ranked(sum.op->getOperand(0));
  SmallVector<int64_t> dims = getReducedDimensions(sum.op), sizes;
  for (int64_t dim : dims)
    sizes.push_back(operand[dim].tile);
  const int64_t size = ShapedType::getNumElements(sizes),
                kept = countElements(layout), last = type.getRank() - 1;
  const int64_t step = getStep(sum, e.getWidth()), runs = kept / step;
  const int64_t beside = mapping.countBeside(sum, e.getWidth());
  const int64_t down = lanes.count() / beside;
  const int64_t deep = dims.back() == last && sizes.back() % e.getWidth() == 0
                           ? e.getWidth()
                           : 1; // reduced ones
  SmallVector<int64_t> tiles = tilesOf(layout);
  Index column = e.indices.remainder(lanes.lane(), beside),
        first = e.indices.divide(lanes.lane(), beside);
  SmallVector<Reducer> reducers;
  SmallVector<Value> rooms;
  Scalars start; // for each sum, of each of a step's elements, its parts
  for (const RowSum *one : sums) {
    reducers.push_back(getReducer(e.b, one->op));
    rooms.push_back(
        lanes.allocate(ranked(one->op->getResult(0)).getElementType(), kept));
    for (int64_t number = 0; number < step; ++number)
      for (TypedAttr attr : reducers.back().start)
        start.push_back(arith::ConstantOp::create(e.b, e.loc, attr));
  }
  const bool isOnce = runs <= beside;
  auto takeTurn = [&](const Index &base) {
    Index at = e.indices.limit(e.indices.add(base, column), runs - 1);
    Indices keptIndices =
        e.indices.delinearize(e.indices.multiply(at, step), tiles);
    Index end = IndexBuilder::literal(size / deep);
    Scalars mine = e.loop(
        first, end, down, start, [&](const Index &turn, ValueRange carried) {
          Index begin = e.indices.multiply(turn, deep);
          Indices reduced = e.indices.delinearize(begin, sizes), where;
          size_t nextKept = 0, nextReduced = 0;
          for (int64_t dim = 0; dim < type.getRank(); ++dim)
            where.push_back(
                globalIndex(operand[dim], llvm::is_contained(dims, dim)
                                              ? reduced[nextReduced++]
                                              : keptIndices[nextKept++]));
          const Place &place =
              e.at(type.getShape(), where, step * deep > 1 ? int(last) : -1);
          Scalars all(carried);
          int64_t before = 0;
          for (auto [one, reducer] : llvm::zip_equal(sums, reducers)) {
            const int64_t parts = reducer.start.size();
            for (auto [number, value] : llvm::enumerate(
                     e.get(one->op->getOperand(0), place, &operand))) {
              const int64_t of = before + number % step * parts;
              Index position =
                  e.indices.add(begin, e.indices.literal(number / step));
              llvm::copy(
                  reducer.combine(Scalars(ArrayRef(all).slice(of, parts)),
                                  reducer.wrap(value, position)),
                  all.begin() + of);
            }
            before += step * parts;
          }
          return all;
        });
    Index firstKept = e.indices.add(e.indices.multiply(lanes.row(), kept),
                                    e.indices.multiply(base, step));
    int64_t before = 0;
    for (size_t number = 0; number < sums.size(); ++number) {
      const Reducer &reducer = reducers[number];
      Value room = rooms[number];
      const int64_t count = step * reducer.start.size();
      lanes.combineApart(
          reducer, Scalars(ArrayRef(mine).slice(before, count)), beside, step,
          [&](const Index &column, Scalars combined) {
            Index place = e.indices.add(firstKept, column);
            auto store = [&]() -> Scalars {
              lanes.storeShared(room, reducer.finish(combined), place);
              return {};
            };
            Index wanted =
                e.indices.add(e.indices.multiply(base, step), column);
            if (wanted.bound > kept)
              e.choose(below(wanted, kept), {}, store,
                       [] { return Scalars(); });
            else
              store();
          });
      before += count;
    }
    if (!isOnce) // before the next turn hands anything on in the same rooms
      lanes.meet();
  };
  if (isOnce)
    takeTurn(IndexBuilder::literal(0));
  else
    e.loop(IndexBuilder::literal(0), IndexBuilder::literal(runs), beside, {},
           [&](const Index &base, ValueRange) -> Scalars {
             takeTurn(base);
             return {};
           });
  lanes.meet();
  for (auto [one, room] : llvm::zip_equal(sums, rooms)) {
    Value result = one->op->getResult(0);
    computed[result].push_back(
        {layout, {}, room, ranked(result).getElementType()});
  }
}

/// Whether `value` is computed from any of `others`.
static bool needsAny(Value value, ArrayRef<const RowSum *> others) {
  SmallVector<Value> work{value};
  llvm::DenseSet<Operation *> visited;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !visited.insert(op).second)
      continue;
    if (llvm::any_of(others,
                     [&](const RowSum *other) { return other->op == op; }))
      return true;
    llvm::append_range(work, op->getOperands());
  }
  return false;
}

static bool goTogether(const RowSum &one, const RowSum &other) {
  return one.form == RowSum::Across && other.form == RowSum::Across &&
         one.layout == other.layout && one.operand == other.operand &&
         ranked(one.op->getOperand(0)).getShape() ==
             ranked(other.op->getOperand(0)).getShape() &&
         getReducedDimensions(one.op) == getReducedDimensions(other.op);
}

void Rows::computeReductions() {
  SmallVector<const RowSum *> left;
  for (const RowSum &sum : mapping.sums)
    left.push_back(&sum);
  while (!left.empty()) {
    // The first sum, and those that go with it and wait for no remaining one.
    SmallVector<const RowSum *> together, others;
    for (const RowSum *sum : left) {
      const bool joins =
          together.empty() || (goTogether(*together.front(), *sum) &&
                               !needsAny(sum->op->getOperand(0), left));
      (joins ? together : others).push_back(sum);
    }
    const RowSum &sum = *together.front();
    if (sum.form == RowSum::Across)
      reduceAcross(together);
    else if (sum.form == RowSum::Along)
      computed[sum.op->getResult(0)].push_back(
          {sum.layout, {reduceAlong(sum)}, {}, {}});
    left = std::move(others);
  }
}

void Rows::store(ArrayRef<Destination> destinations) {
  std::vector<std::vector<unsigned>> groups; // of equal parts
  for (unsigned index = 0; index < destinations.size(); ++index) {
    if (cast<RankedTensorType>(destinations[index].result.getType())
            .getNumElements() == 0)
      continue;
    auto fits = [&](const std::vector<unsigned> &group) {
      return haveSameParts(
          {destinations[group.front()].result.getType(),
           parts.results[group.front()]},
          {destinations[index].result.getType(), parts.results[index]});
    };
    auto group = llvm::find_if(groups, fits);
    if (group == groups.end())
      group = groups.insert(groups.end(), std::vector<unsigned>());
    group->push_back(index);
  }
  // A result that overwrites an argument comes after the last reader.
  auto overwrites = [&](const std::vector<unsigned> &group) {
    return llvm::any_of(group, [&](unsigned index) {
      return bool(destinations[index].inPlaceOf);
    });
  };
  llvm::stable_sort(groups, [&](const auto &left, const auto &right) {
    return overwrites(left) < overwrites(right);
  });
  for (const std::vector<unsigned> &group : groups) {
    if (overwrites(group)) // shuffles order no memory
      lanes.meet();
    const RowLayout &layout = parts.results[group.front()];
    const int64_t size = countElements(layout), width = e.getWidth();
    int64_t last = 1;
    for (RowDigit digit : layout)
      if (digit.tile > 1)
        last = digit.tile;
    const bool isRun = width > 1 && last % width == 0;
    overPart(
        size, isRun ? width : 1, {},
        [&](const Index &local, Value counts, ValueRange) -> Scalars {
          SmallVector<Scalars> elements;
          SmallVector<const Place *> places;
          auto compute = [&] {
            for (unsigned index : group) {
              Value result = destinations[index].result;
              const Place &place =
                  placeOf(cast<RankedTensorType>(result.getType()), layout,
                          local, isRun);
              places.push_back(&place);
              elements.push_back(e.get(result, place, &parts.results[index]));
            }
          };
          // Another lane may have overwritten elements that this lane does not
          // use.
          const bool isGuarded = overwrites(group);
          if (!isGuarded)
            compute();
          Value stores = isRow;
          if (counts)
            stores =
                stores
                    ? Value(arith::AndIOp::create(e.b, e.loc, stores, counts))
                    : counts;
          auto storeAll = [&]() -> Scalars {
            if (isGuarded)
              compute();
            for (auto [number, index] : llvm::enumerate(group))
              e.store(destinations[index].address, destinations[index].inMemory,
                      *places[number], elements[number]);
            return {};
          };
          if (stores)
            e.choose(stores, {}, storeAll, [] { return Scalars(); });
          else
            storeAll();
          return {};
        });
  }
}

} // namespace

void pp::gpu::buildRows(Elements &elements, const RowParts &parts,
                        const RowMapping &mapping, Value block, Value thread,
                        ArrayRef<Destination> destinations) {
  Rows rows(elements, parts, mapping, block, thread);
  rows.computeReductions();
  rows.store(destinations);
}
