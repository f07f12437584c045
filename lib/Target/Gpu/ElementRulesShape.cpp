//===- ElementRulesShape.cpp - ops that move elements ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// These rules compute a place, and ask there. A place outside of an operand is
// moved inside before it is asked, and its result is ignored.
//
//===----------------------------------------------------------------------===//
#include "ElementRulesDetail.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "pp/IR/PaddedRows.h"
#include "pp/IR/Values.h"

using namespace mlir;
using namespace pp;
using namespace pp::gpu;

static Scalars getElements(const Question &q, BroadcastOp op) {
  if (q.place.crosses)
    return {};
  Indices from;
  int run = -1;
  for (auto [index, dim] : llvm::enumerate(op.getDimensions())) {
    from.push_back(q.place.indices[dim]);
    if (dim == q.place.run)
      run = index;
  }
  ArrayRef<int64_t> shape = ranked(op.getOperand()).getShape();
  return q.spread(q.ask(0, q.elements.at(shape, from, run)));
}

static Scalars getElements(const Question &q, ReshapeOp op) {
  if (q.place.run >= 0 && !q.place.isDense)
    return {};
  ArrayRef<int64_t> shape = ranked(op.getOperand()).getShape();
  if (shape.empty())
    return q.spread(q.ask(0, q.elements.at({}, ArrayRef<Index>())));
  return q.ask(0, q.elements.at(shape, q.place.linear, q.place.run >= 0));
}

static Scalars getElements(const Question &q, TransposeOp op) {
  if (q.place.crosses)
    return {};
  Indices from(q.place.indices.size(), Index());
  int run = -1;
  for (auto [index, dim] : llvm::enumerate(op.getPermutation())) {
    from[dim] = q.place.indices[index];
    if (int(index) == q.place.run)
      run = dim;
  }
  ArrayRef<int64_t> shape = ranked(op.getOperand()).getShape();
  return q.ask(0, q.elements.at(shape, from, run));
}

static Scalars getElements(const Question &q, ReverseOp op) {
  if (q.place.crosses || llvm::is_contained(op.getDimensions(), q.place.run))
    return {};
  Indices from = q.place.indices;
  ArrayRef<int64_t> shape = op.getType().getShape();
  for (int64_t dim : op.getDimensions())
    from[dim] = q.elements.indices.mirror(from[dim], shape[dim]);
  return q.ask(0, q.elements.at(shape, from, q.place.run));
}

static Scalars getElements(const Question &q, SliceOp op) {
  if (q.place.crosses ||
      (q.place.run >= 0 && op.getStrides()[q.place.run] != 1))
    return {};
  IndexBuilder &indices = q.elements.indices;
  Indices from;
  for (auto [dim, index] : llvm::enumerate(q.place.indices))
    from.push_back(indices.add(indices.multiply(index, op.getStrides()[dim]),
                               indices.literal(op.getStarts()[dim])));
  ArrayRef<int64_t> shape = ranked(op.getOperand()).getShape();
  return q.ask(0, q.elements.at(shape, from, q.place.run));
}

namespace {

/// A place that may be outside.
struct Tested {
  Indices indices;
  Value isInside; ///< null: it always does
};

/// Tests one dimension after another.
class Tester {
public:
  explicit Tester(Elements &elements)
      : b(elements.b), loc(elements.loc), indices(elements.indices) {}

  /// The element `(at - first) / apart` of `size`, if it divides.
  void add(const Index &at, Value first, int64_t apart, int64_t size) {
    Value place = arith::SubIOp::create(b, loc, indices.get(at), first);
    require(compare(arith::CmpIPredicate::sge, place, 0));
    require(compare(arith::CmpIPredicate::slt, place, (size - 1) * apart + 1));
    // Inside, so that unsigned arithmetic may follow.
    Value inside = arith::MaxSIOp::create(b, loc, place, indices.getLiteral(0));
    inside = arith::MinSIOp::create(b, loc, inside,
                                    indices.getLiteral((size - 1) * apart));
    Index index = indices.known(inside, (size - 1) * apart + 1);
    if (apart > 1) {
      Index rest = indices.remainder(index, apart);
      require(compare(arith::CmpIPredicate::eq, indices.get(rest), 0));
      index = indices.divide(index, apart);
    }
    result.indices.push_back(index);
  }
  void addWhole(const Index &at) { result.indices.push_back(at); }

  Tested result;

private:
  Value compare(arith::CmpIPredicate predicate, Value value, int64_t number) {
    return arith::CmpIOp::create(b, loc, predicate, value,
                                 indices.getLiteral(number));
  }
  void require(Value condition) {
    result.isInside =
        result.isInside
            ? Value(arith::AndIOp::create(b, loc, result.isInside, condition))
            : condition;
  }
  OpBuilder &b;
  Location loc;
  IndexBuilder &indices;
};

/// Narrow floats are selected without conversion: GPUs can.
Scalars select(Elements &e, Value condition, ArrayRef<Value> onTrue,
               ArrayRef<Value> onFalse) {
  if (!condition)
    return Scalars(onTrue);
  Scalars result;
  for (auto [left, right] : llvm::zip_equal(onTrue, onFalse))
    result.push_back(
        arith::SelectOp::create(e.b, e.loc, condition, left, right));
  return result;
}

} // namespace

static Scalars getElements(const Question &q, PadOp op) {
  auto from = ranked(op.getOperand());
  if (isRowPadding(op)) // padding is never read
    return q.place.crosses
               ? Scalars()
               : q.ask(0, q.elements.at(from.getShape(), q.place.indices,
                                        q.place.run));
  auto isWhole = [&](int64_t dim) {
    return op.getLow()[dim] == 0 && op.getHigh()[dim] == 0 &&
           op.getInterior()[dim] == 0;
  };
  if (q.place.crosses || (q.place.run >= 0 && !isWhole(q.place.run)))
    return {};
  Scalars padding = q.spread({q.askScalar(1)});
  if (from.getNumElements() == 0)
    return padding;
  Tester tester(q.elements);
  for (auto [dim, index] : llvm::enumerate(q.place.indices)) {
    if (isWhole(dim))
      tester.addWhole(index);
    else
      tester.add(index, q.elements.indices.getLiteral(op.getLow()[dim]),
                 op.getInterior()[dim] + 1, from.getDimSize(dim));
  }
  const Place &place =
      q.elements.at(from.getShape(), tester.result.indices, q.place.run);
  return select(q.elements, tester.result.isInside, q.ask(0, place), padding);
}

/// The first part that is not over, by a branch: the others are not read.
static Scalars getElements(const Question &q, ConcatenateOp op) {
  const int dim = op.getDimension();
  const int64_t width = q.elements.getWidth();
  bool isAlong = q.place.run == dim;
  auto divides = [&](Value operand) {
    return ranked(operand).getDimSize(dim) % width == 0;
  };
  if (q.place.crosses ||
      (isAlong && !(llvm::all_of(op.getOperands(), divides) &&
                    q.place.indices[dim].divides(width))))
    return {};
  Elements &e = q.elements;
  SmallVector<Type> types(e.count(q.place), op.getType().getElementType());
  std::function<Scalars(unsigned, int64_t)> from = [&](unsigned number,
                                                       int64_t start) {
    const int64_t size = ranked(op.getOperand(number)).getDimSize(dim);
    auto here = [&]() -> Scalars {
      Indices indices = q.place.indices;
      if (start > 0) {
        Value local =
            arith::SubIOp::create(e.b, e.loc, e.indices.get(indices[dim]),
                                  e.indices.getLiteral(start));
        indices[dim] = e.indices.known(
            local, size, isAlong ? std::gcd(width, indices[dim].multiple) : 1);
      } else {
        indices[dim].bound = std::min(indices[dim].bound, size);
      }
      return q.ask(number, e.at(ranked(op.getOperand(number)).getShape(),
                                indices, q.place.run));
    };
    if (number + 1 == op.getNumOperands())
      return here();
    Value isHere = arith::CmpIOp::create(e.b, e.loc, arith::CmpIPredicate::slt,
                                         e.indices.get(q.place.indices[dim]),
                                         e.indices.getLiteral(start + size));
    return e.choose(isHere, types, here,
                    [&] { return from(number + 1, start + size); });
  };
  return from(0, 0);
}

/// Computed starts, clamped so that a box of shape `part` stays within `whole`.
static Indices clampedStarts(const Question &q, unsigned first,
                             RankedTensorType whole, RankedTensorType part) {
  Indices starts;
  for (int64_t dim = 0; dim < whole.getRank(); ++dim)
    starts.push_back(q.elements.indices.clamped(q.askScalar(first + dim),
                                                whole.getDimSize(dim) -
                                                    part.getDimSize(dim) + 1));
  return starts;
}

static Scalars getElements(const Question &q, DynamicSliceOp op) {
  if (q.place.crosses)
    return {};
  auto from = ranked(op.getOperand());
  Indices starts = clampedStarts(q, 1, from, op.getType());
  for (auto [start, index] : llvm::zip_equal(starts, q.place.indices))
    start = q.elements.indices.add(start, index);
  return q.ask(0, q.elements.at(from.getShape(), starts, q.place.run));
}

static Scalars getElements(const Question &q, DynamicUpdateSliceOp op) {
  auto part = ranked(op.getUpdate());
  auto isWhole = [&](int64_t dim) {
    return part.getDimSize(dim) == op.getType().getDimSize(dim);
  };
  if (q.place.crosses || (q.place.run >= 0 && !isWhole(q.place.run)))
    return {};
  if (part.getNumElements() == 0)
    return q.ask(0, q.place);
  Indices starts = clampedStarts(q, 2, op.getType(), part);
  Tester tester(q.elements);
  for (auto [dim, index] : llvm::enumerate(q.place.indices)) {
    if (isWhole(dim))
      tester.addWhole(index);
    else
      tester.add(index, q.elements.indices.get(starts[dim]), 1,
                 part.getDimSize(dim));
  }
  const Place &place =
      q.elements.at(part.getShape(), tester.result.indices, q.place.run);
  return select(q.elements, tester.result.isInside, q.ask(1, place),
                q.ask(0, q.place));
}

void pp::gpu::attachShapeRules(MLIRContext *context) {
  attachRule<BroadcastOp, getElements>(context);
  attachRule<ReshapeOp, getElements>(context);
  attachRule<TransposeOp, getElements>(context);
  attachRule<ReverseOp, getElements>(context);
  attachRule<SliceOp, getElements>(context);
  attachRule<PadOp, getElements>(context);
  attachRule<ConcatenateOp, getElements>(context);
  attachRule<DynamicSliceOp, getElements>(context);
  attachRule<DynamicUpdateSliceOp, getElements>(context);
}
