//===- GradientsContraction.cpp - gradients of sums and indexing ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reductions, contractions, gather and scatter_add.
//
//===----------------------------------------------------------------------===//
#include "GradientModels.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace pp;

namespace {

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// A value of the result's shape, repeated over the operand's.
Value spread(ReduceOp op, Vjp &vjp, Value value) {
  auto type = ranked(op.getOperand());
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(op.getDimensions(), dim))
      kept.push_back(dim);
  return vjp.broadcast(value, kept, type.clone(ranked(value).getElementType()));
}

/// Equal parts to every element that attains the extremum.
Value extremum(ReduceOp op, Vjp &vjp) {
  Value x = op.getOperand();
  Type element = ranked(x).getElementType();
  Value attains =
      vjp.compare(Direction::EQ, x, spread(op, vjp, op.getResult()));
  Value count = vjp.reduce(Reduction::Sum, vjp.convert(attains, element),
                           op.getDimensions());
  Value share = vjp.binary<DivOp>(vjp.upstream, count);
  return vjp.keepWhere(attains, spread(op, vjp, share));
}

/// dy times the product of the other elements, which is y x only if no element
/// is zero. With one zero only that element has a gradient, with more none.
Value product(ReduceOp op, Vjp &vjp) {
  Value x = op.getOperand();
  Type element = ranked(x).getElementType();
  Value isZero = vjp.compare(Direction::EQ, x, vjp.fill(0.0, x.getType()));
  Value nonzero = vjp.select(isZero, vjp.fill(1.0, x.getType()), x);
  Value product = vjp.reduce(Reduction::Prod, nonzero, op.getDimensions());
  Value zeros = spread(op, vjp,
                       vjp.reduce(Reduction::Sum, vjp.convert(isZero, element),
                                  op.getDimensions()));
  Value full = spread(op, vjp, vjp.mul(vjp.upstream, product));
  Value otherZeros = vjp.binary<SubOp>(zeros, vjp.convert(isZero, element));
  Value noneElse =
      vjp.compare(Direction::EQ, otherZeros, vjp.fill(0.0, x.getType()));
  return vjp.keepWhere(noneElse, vjp.binary<DivOp>(full, nonzero));
}

void reduce(ReduceOp op, Vjp &vjp) {
  if (!vjp.needs(0))
    return;
  switch (op.getReduction()) {
  case Reduction::Sum:
    return vjp.set(0, spread(op, vjp, vjp.upstream));
  case Reduction::Max:
  case Reduction::Min:
    return vjp.set(0, extremum(op, vjp));
  case Reduction::Prod:
    return vjp.set(0, product(op, vjp));
  case Reduction::And:
  case Reduction::Or:
    return;
  }
}

void argmax(ArgmaxOp, Vjp &) {}
void topK(TopKOp, Vjp &) {}

void cumsum(CumsumOp op, Vjp &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.make<CumsumOp>(op.getType(), vjp.upstream, op.getDimension(),
                                  !op.getReverse()));
}

//===----------------------------------------------------------------------===//
// dot_general
//===----------------------------------------------------------------------===//

/// An operand of a dot_general and the roles of its dimensions.
struct Side {
  Value value;
  ArrayRef<int64_t> batch, contract;
  SmallVector<int64_t> free;
  /// Dimensions of the result that hold `free`.
  SmallVector<int64_t> inResult;
};

/// Price of bringing dimensions in the order `dims` into ascending order: none,
/// a transpose of rows, a transpose of elements.
int64_t disorder(ArrayRef<int64_t> dims) {
  if (llvm::is_sorted(dims))
    return 0;
  return dims.back() + 1 == static_cast<int64_t>(dims.size()) ? 1 : 2;
}

/// The gradient of `self`: the upstream gradient contracted with `other` over
/// the latter's free dimensions. Takes the operand order that yields dimensions
/// closer to the order of `self`.
Value contract(Vjp &vjp, const Side &self, const Side &other) {
  auto type = ranked(self.value);
  Value upstream = vjp.convert(vjp.upstream, type.getElementType());
  // The remaining dimensions of `other` are its contracting dimensions, in
  // ascending order, each standing for its partner in `self`.
  SmallVector<int64_t> remaining(other.contract), paired;
  llvm::sort(remaining);
  for (int64_t dim : remaining)
    paired.push_back(self.contract[llvm::find(other.contract, dim) -
                                   other.contract.begin()]);
  auto resultBatch = llvm::to_vector(llvm::seq<int64_t>(self.batch.size()));
  // Dimensions of `self`, as each order yields them.
  SmallVector<int64_t> upstreamFirst(self.batch), otherFirst(self.batch);
  upstreamFirst.append(self.free);
  upstreamFirst.append(paired);
  otherFirst.append(paired);
  otherFirst.append(self.free);
  bool swap = disorder(otherFirst) < disorder(upstreamFirst);
  ArrayRef<int64_t> dims = swap ? otherFirst : upstreamFirst;
  SmallVector<int64_t> shape;
  for (int64_t dim : dims)
    shape.push_back(type.getDimSize(dim));
  Type product = type.clone(shape);
  Value gradient =
      swap ? vjp.make<DotGeneralOp>(product, other.value, upstream, other.batch,
                                    resultBatch, other.free, other.inResult)
           : vjp.make<DotGeneralOp>(product, upstream, other.value, resultBatch,
                                    other.batch, other.inResult, other.free);
  return vjp.transpose(gradient, invertPermutationVector(dims));
}

void dotGeneral(DotGeneralOp op, Vjp &vjp) {
  int64_t batch = op.getLhsBatch().size(), rows = op.getLhsFree().size();
  int64_t columns = op.getRhsFree().size();
  Side lhs{op.getLhs(), op.getLhsBatch(), op.getLhsContract(), op.getLhsFree(),
           llvm::to_vector(llvm::seq(batch, batch + rows))};
  Side rhs{op.getRhs(), op.getRhsBatch(), op.getRhsContract(), op.getRhsFree(),
           llvm::to_vector(llvm::seq(batch + rows, batch + rows + columns))};
  if (vjp.needs(0))
    vjp.set(0, contract(vjp, lhs, rhs));
  if (vjp.needs(1))
    vjp.set(1, contract(vjp, rhs, lhs));
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

/// scatter_add drops indices outside the table where gather clamps them, so
/// they are clamped first.
void gather(GatherOp op, Vjp &vjp) {
  if (!vjp.needs(0))
    return;
  auto table = ranked(op.getOperand());
  Type indices = op.getIndices().getType();
  double last = table.getDimSize(op.getBatchDims()) - 1;
  Value clamped = vjp.binary<MinOp>(
      vjp.binary<MaxOp>(op.getIndices(), vjp.fill(0, indices)),
      vjp.fill(last, indices));
  vjp.set(0, vjp.make<ScatterAddOp>(table, vjp.fill(0.0, table), clamped,
                                    vjp.upstream, op.getBatchDims()));
}

void scatterAdd(ScatterAddOp op, Vjp &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.upstream);
  double size = ranked(op).getDimSize(op.getBatchDims());
  // Into a table without rows no update gets: their gradient is zero.
  if (!vjp.needs(2) || size == 0)
    return;
  Value indices = op.getIndices();
  auto updates = ranked(op.getUpdates());
  Value rows =
      vjp.make<GatherOp>(updates, vjp.upstream, indices, op.getBatchDims());
  Value inside = vjp.binary<AndOp>(
      vjp.compare(Direction::GE, indices, vjp.fill(0, indices.getType())),
      vjp.compare(Direction::LT, indices, vjp.fill(size, indices.getType())));
  Type maskType = updates.clone(IntegerType::get(op.getContext(), 1));
  auto dims = llvm::to_vector(llvm::seq<int64_t>(ranked(indices).getRank()));
  vjp.set(2, vjp.keepWhere(vjp.broadcast(inside, dims, maskType), rows));
}

} // namespace

void pp::registerContractionGradients(MLIRContext *context) {
  attachGradient<ReduceOp, reduce>(context);
  attachGradient<ArgmaxOp, argmax>(context);
  attachGradient<TopKOp, topK>(context);
  attachGradient<CumsumOp, cumsum>(context);
  attachGradient<DotGeneralOp, dotGeneral>(context);
  attachGradient<GatherOp, gather>(context);
  attachGradient<ScatterAddOp, scatterAdd>(context);
}
