//===- ElementRulesWindow.cpp - convolutions and pooling ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Serial loops over taps. Places outside of an operand are read at its edge and
// ignored.
//
//===----------------------------------------------------------------------===//
#include "../Scalars.h"
#include "ElementRulesDetail.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "pp/IR/Windows.h"

using namespace mlir;
using namespace pp;
using namespace pp::gpu;

namespace {

/// Signed arithmetic on places that may be outside.
struct Signed {
  Elements &e;

  Value literal(int64_t number) { return e.indices.getLiteral(number); }
  Value add(Value x, Value y) {
    return arith::AddIOp::create(e.b, e.loc, x, y);
  }
  Value sub(Value x, Value y) {
    return arith::SubIOp::create(e.b, e.loc, x, y);
  }
  Value times(Value x, int64_t factor) {
    return arith::MulIOp::create(e.b, e.loc, x, literal(factor));
  }
  Value is(arith::CmpIPredicate predicate, Value x, int64_t number) {
    return arith::CmpIOp::create(e.b, e.loc, predicate, x, literal(number));
  }
  Value both(Value x, Value y) {
    return !x ? y : Value(arith::AndIOp::create(e.b, e.loc, x, y));
  }
  /// `value / apart`, and in `isInside` whether that is one of `size`.
  Index inside(Value value, int64_t apart, int64_t size, Value &isInside) {
    const int64_t last = (size - 1) * apart;
    isInside = both(isInside, is(arith::CmpIPredicate::sge, value, 0));
    isInside = both(isInside, is(arith::CmpIPredicate::sle, value, last));
    value = arith::MaxSIOp::create(e.b, e.loc, value, literal(0));
    value = arith::MinSIOp::create(e.b, e.loc, value, literal(last));
    Index index = e.indices.known(value, last + 1);
    if (apart == 1)
      return index;
    Value rest = e.indices.get(e.indices.remainder(index, apart));
    isInside = both(isInside, is(arith::CmpIPredicate::eq, rest, 0));
    return e.indices.divide(index, apart);
  }
};

} // namespace

static Scalars getElements(const Question &q, ConvolutionOp op) {
  if (q.place.run >= 0)
    return {};
  Elements &e = q.elements;
  Type element = op.getType().getElementType(),
       compute = getComputeType(element);
  auto lhsType = ranked(op.getLhs()), rhsType = ranked(op.getRhs());
  Value zero = arith::ConstantOp::create(e.b, e.loc,
                                         getIdentity(Reduction::Sum, compute));
  if (lhsType.getNumElements() == 0 || rhsType.getNumElements() == 0)
    return {emitConvert(e.b, e.loc, zero, element)};
  Indices lhs(lhsType.getRank()), rhs(rhsType.getRank());
  SmallVector<int64_t> plain = op.getResultPlain(), sizes;
  size_t next = 0;
  for (auto [left, right] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
    lhs[left] = rhs[right] = q.place.indices[plain[next++]];
  for (int64_t dim : op.getLhsFree())
    lhs[dim] = q.place.indices[plain[next++]];
  for (int64_t dim : op.getRhsFree())
    rhs[dim] = q.place.indices[plain[next++]];
  const size_t contracted = op.getLhsContract().size(),
               windows = op.getLhsWindow().size();
  for (int64_t dim : op.getLhsContract())
    sizes.push_back(lhsType.getDimSize(dim));
  for (unsigned index = 0; index < windows; ++index)
    sizes.push_back(getWindow(op, index).taps);
  Scalars sum = e.loop(
      IndexBuilder::literal(ShapedType::getNumElements(sizes)), zero,
      [&](const Index &step, ValueRange carried) -> Scalars {
        Signed math{e};
        Indices steps = e.indices.delinearize(step, sizes);
        for (size_t index = 0; index < contracted; ++index)
          lhs[op.getLhsContract()[index]] = rhs[op.getRhsContract()[index]] =
              steps[index];
        Value isInside;
        for (unsigned index = 0; index < windows; ++index) {
          Window window = getWindow(op, index);
          const Index &tap = steps[contracted + index];
          rhs[op.getRhsWindow()[index]] = tap;
          // Backwards through rhs is backwards through the window.
          Value along = e.indices.get(tap);
          if (op.getReverse())
            along = math.sub(math.literal(window.taps - 1), along);
          const Index &position = q.place.indices[op.getResultWindow()[index]];
          Value at =
              math.add(math.times(e.indices.get(position), window.stride),
                       math.sub(math.times(along, window.dilation),
                                math.literal(window.low)));
          lhs[op.getLhsWindow()[index]] =
              math.inside(at, window.baseDilation, window.size, isInside);
        }
        Value x = emitConvert(
            e.b, e.loc, q.askOne(0, e.at(lhsType.getShape(), lhs)), compute);
        if (isInside)
          x = arith::SelectOp::create(e.b, e.loc, isInside, x, zero);
        Value y = q.askOne(1, e.at(rhsType.getShape(), rhs));
        Value product = emitCombine(e.b, e.loc, Reduction::Prod, x,
                                    emitConvert(e.b, e.loc, y, compute));
        return {emitCombine(e.b, e.loc, Reduction::Sum, carried[0], product)};
      });
  return {emitConvert(e.b, e.loc, sum[0], element)};
}

/// Loops over the taps of the window at a position: `body` gets each one's
/// place and whether it is inside.
template <typename OpT>
static Scalars
overTaps(Elements &e, OpT op, ArrayRef<Index> position, ValueRange carried,
         llvm::function_ref<Scalars(const Index &tap, const Place &place,
                                    Value isInside, ValueRange)>
             body) {
  ArrayRef<int64_t> shape = ranked(op.getOperand()).getShape();
  return e.loop(
      IndexBuilder::literal(ShapedType::getNumElements(op.getSizes())), carried,
      [&](const Index &step, ValueRange now) {
        Signed math{e};
        Indices taps = e.indices.delinearize(step, op.getSizes()),
                where(position);
        Value isInside;
        for (auto [index, dim] : llvm::enumerate(op.getDimensions())) {
          Window window = getWindow(op, index);
          Value at = math.add(
              math.times(e.indices.get(position[dim]), window.stride),
              math.sub(math.times(e.indices.get(taps[index]), window.dilation),
                       math.literal(window.low)));
          where[dim] = math.inside(at, 1, window.size, isInside);
        }
        if (!isInside)
          isInside =
              arith::ConstantOp::create(e.b, e.loc, e.b.getBoolAttr(true));
        return body(step, e.at(shape, where), isInside, now);
      });
}

static Scalars getElements(const Question &q, ReduceWindowOp op) {
  if (q.place.run >= 0)
    return {};
  Elements &e = q.elements;
  Type element = op.getType().getElementType(),
       compute = getComputeType(element);
  Value start = arith::ConstantOp::create(
      e.b, e.loc, getIdentity(op.getReduction(), compute));
  if (ranked(op.getOperand()).getNumElements() == 0)
    return {emitConvert(e.b, e.loc, start, element)};
  Scalars sum = overTaps(
      e, op, q.place.indices, start,
      [&](const Index &, const Place &place, Value isInside,
          ValueRange carried) -> Scalars {
        Value value = emitConvert(e.b, e.loc, q.askOne(0, place), compute);
        value = arith::SelectOp::create(e.b, e.loc, isInside, value, start);
        return {emitCombine(e.b, e.loc, op.getReduction(), carried[0], value)};
      });
  return {emitConvert(e.b, e.loc, sum[0], element)};
}

/// From the element's side: among the windows that contain it, the updates of
/// those whose first largest element it is.
static Scalars getElements(const Question &q, SelectAndScatterOp op) {
  if (q.place.run >= 0)
    return {};
  Elements &e = q.elements;
  Type element = op.getType().getElementType(),
       compute = getComputeType(element);
  auto from = ranked(op.getOperand()), updates = ranked(op.getUpdates());
  Value zero = arith::ConstantOp::create(e.b, e.loc,
                                         getIdentity(Reduction::Sum, compute));
  if (from.getNumElements() == 0 || updates.getNumElements() == 0)
    return {emitConvert(e.b, e.loc, zero, element)};
  Type number = e.indices.getType();
  // Windows contain it by falling taps when positions rise.
  const int64_t taps = ShapedType::getNumElements(op.getSizes());
  Scalars sum = e.loop(
      IndexBuilder::literal(taps), zero,
      [&](const Index &step, ValueRange carried) -> Scalars {
        Signed math{e};
        Indices tap = e.indices.delinearize(step, op.getSizes()),
                position = q.place.indices;
        Value isInside;
        for (auto [index, dim] : llvm::enumerate(op.getDimensions())) {
          Window window = getWindow(op, index);
          // Element e is tap t of position p where p * stride = e + low - t *
          // dilation.
          Value at =
              math.sub(math.add(e.indices.get(q.place.indices[dim]),
                                math.literal(window.low)),
                       math.times(e.indices.get(tap[index]), window.dilation));
          position[dim] =
              math.inside(at, window.stride, updates.getDimSize(dim), isInside);
        }
        auto here = [&]() -> Scalars {
          Scalars none = {arith::ConstantOp::create(
                              e.b, e.loc, getIdentity(Reduction::Max, compute)),
                          arith::ConstantOp::create(
                              e.b, e.loc, e.b.getIntegerAttr(number, -1))};
          Scalars best = overTaps(
              e, op, position, none,
              [&](const Index &other, const Place &place, Value isThere,
                  ValueRange known) -> Scalars {
                Value value =
                    emitConvert(e.b, e.loc, q.askOne(0, place), compute);
                Value isFirst =
                    arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::slt,
                                          known[1], e.indices.getLiteral(0));
                Value takes = arith::AndIOp::create(
                    e.b, e.loc, isThere,
                    arith::OrIOp::create(
                        e.b, e.loc, isFirst,
                        emitIsLarger(e.b, e.loc, value, known[0])));
                return {
                    arith::SelectOp::create(e.b, e.loc, takes, value, known[0]),
                    arith::SelectOp::create(e.b, e.loc, takes,
                                            e.indices.get(other), known[1])};
              });
          Value isIt =
              arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::eq,
                                    best[1], e.indices.get(step));
          Value update = emitConvert(
              e.b, e.loc, q.askOne(1, e.at(updates.getShape(), position)),
              compute);
          update = arith::SelectOp::create(e.b, e.loc, isIt, update, zero);
          return {emitCombine(e.b, e.loc, Reduction::Sum, carried[0], update)};
        };
        if (!isInside)
          return here();
        return e.choose(isInside, compute, here,
                        [&] { return Scalars(carried); });
      });
  return {emitConvert(e.b, e.loc, sum[0], element)};
}

void pp::gpu::attachWindowRules(MLIRContext *context) {
  attachRule<ConvolutionOp, getElements>(context);
  attachRule<ReduceWindowOp, getElements>(context);
  attachRule<SelectAndScatterOp, getElements>(context);
}
