//===- GradientsShape.cpp - gradients of ops that move elements -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Each gradient moves elements back to where they came from.
//
//===----------------------------------------------------------------------===//
#include "GradientModels.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace pp;

namespace {

void broadcast(BroadcastOp op, Vjp &vjp) {
  if (!vjp.needs(0))
    return;
  SmallVector<int64_t> added;
  for (int64_t dim = 0; dim < ranked(op).getRank(); ++dim)
    if (!llvm::is_contained(op.getDimensions(), dim))
      added.push_back(dim);
  vjp.set(0, vjp.reduce(Reduction::Sum, vjp.upstream, added));
}

void reshape(ReshapeOp op, Vjp &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.make<ReshapeOp>(op.getOperand().getType(), vjp.upstream));
}

void transpose(TransposeOp op, Vjp &vjp) {
  if (vjp.needs(0))
    vjp.set(0, vjp.transpose(vjp.upstream,
                             invertPermutationVector(op.getPermutation())));
}

void reverse(ReverseOp op, Vjp &vjp) {
  if (vjp.needs(0))
    vjp.set(
        0, vjp.make<ReverseOp>(op.getType(), vjp.upstream, op.getDimensions()));
}

void slice(SliceOp op, Vjp &vjp) {
  auto from = ranked(op.getOperand());
  if (!vjp.needs(0) || ranked(op).getNumElements() == 0)
    return;
  SmallVector<int64_t> high, interior;
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    int64_t start = op.getStarts()[dim], stride = op.getStrides()[dim];
    int64_t last = start + (ranked(op).getDimSize(dim) - 1) * stride;
    high.push_back(from.getDimSize(dim) - 1 - last);
    interior.push_back(stride - 1);
  }
  vjp.set(0, vjp.make<PadOp>(from, vjp.upstream,
                             vjp.scalar(0.0, from.getElementType()),
                             op.getStarts(), high, interior));
}

void pad(PadOp op, Vjp &vjp) {
  auto inner = ranked(op.getOperand()), outer = ranked(op);
  if (vjp.needs(0)) {
    SmallVector<int64_t> limits, strides;
    for (int64_t dim = 0; dim < inner.getRank(); ++dim) {
      int64_t stride = op.getInterior()[dim] + 1, size = inner.getDimSize(dim);
      strides.push_back(stride);
      limits.push_back(op.getLow()[dim] +
                       (size == 0 ? 0 : (size - 1) * stride + 1));
    }
    vjp.set(0, vjp.make<SliceOp>(inner, vjp.upstream, op.getLow(), limits,
                                 strides));
  }
  if (vjp.needs(1)) {
    // The value's gradient is the sum over the padding, which a mask padded
    // alike marks.
    Type boolean = IntegerType::get(op.getContext(), 1);
    Value mask = vjp.make<PadOp>(
        outer.clone(boolean), vjp.fill(0, inner.clone(boolean)),
        vjp.scalar(1, boolean), op.getLow(), op.getHigh(), op.getInterior());
    vjp.set(1,
            vjp.reduce(Reduction::Sum, vjp.keepWhere(mask, vjp.upstream),
                       llvm::to_vector(llvm::seq<int64_t>(outer.getRank()))));
  }
}

void concatenate(ConcatenateOp op, Vjp &vjp) {
  int64_t rank = ranked(op).getRank(), begin = 0;
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    auto type = ranked(operand);
    int64_t end = begin + type.getDimSize(op.getDimension());
    if (vjp.needs(index)) {
      SmallVector<int64_t> starts(rank, 0), limits(type.getShape()),
          strides(rank, 1);
      starts[op.getDimension()] = begin;
      limits[op.getDimension()] = end;
      vjp.set(index,
              vjp.make<SliceOp>(type, vjp.upstream, starts, limits, strides));
    }
    begin = end;
  }
}

void dynamicSlice(DynamicSliceOp op, Vjp &vjp) {
  if (vjp.needs(0)) {
    Type type = op.getOperand().getType();
    vjp.set(0, vjp.make<DynamicUpdateSliceOp>(type, vjp.fill(0.0, type),
                                              vjp.upstream, op.getStarts()));
  }
}

void dynamicUpdateSlice(DynamicUpdateSliceOp op, Vjp &vjp) {
  Type update = op.getUpdate().getType();
  if (vjp.needs(0))
    vjp.set(0, vjp.make<DynamicUpdateSliceOp>(op.getType(), vjp.upstream,
                                              vjp.fill(0.0, update),
                                              op.getStarts()));
  if (vjp.needs(1))
    vjp.set(1, vjp.make<DynamicSliceOp>(update, vjp.upstream, op.getStarts()));
}

} // namespace

void pp::registerShapeGradients(MLIRContext *context) {
  attachGradient<BroadcastOp, broadcast>(context);
  attachGradient<ReshapeOp, reshape>(context);
  attachGradient<TransposeOp, transpose>(context);
  attachGradient<ReverseOp, reverse>(context);
  attachGradient<SliceOp, slice>(context);
  attachGradient<PadOp, pad>(context);
  attachGradient<ConcatenateOp, concatenate>(context);
  attachGradient<DynamicSliceOp, dynamicSlice>(context);
  attachGradient<DynamicUpdateSliceOp, dynamicUpdateSlice>(context);
}
