//===- LinalgLoweringShape.cpp - ops that move elements, as linalg --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Slices and reshapes become views; broadcast and transpose are indexing maps
// that fuse away; pad, concatenate and the dynamic forms copy.
//
//===----------------------------------------------------------------------===//
#include "LinalgLowering.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

using namespace mlir;
using namespace pp;

static SmallVector<OpFoldResult> attributes(OpBuilder &builder,
                                            ArrayRef<int64_t> values) {
  return getAsIndexOpFoldResult(builder.getContext(), values);
}

static Value lower(BroadcastOp op, LinalgBuilder b, ValueRange operands) {
  AffineMap map = b.projection(op.getType().getRank(), op.getDimensions());
  return b.map(op.getType(), operands, map,
               [](LinalgBuilder, ValueRange scalars) { return scalars[0]; });
}

static Value lower(TransposeOp op, LinalgBuilder b, ValueRange operands) {
  SmallVector<int64_t> inverse(op.getPermutation().size());
  for (auto [index, dim] : llvm::enumerate(op.getPermutation()))
    inverse[dim] = index;
  AffineMap map = b.projection(op.getType().getRank(), inverse);
  return b.map(op.getType(), operands, map,
               [](LinalgBuilder, ValueRange scalars) { return scalars[0]; });
}

static Value lower(ReverseOp op, LinalgBuilder b, ValueRange operands) {
  SmallVector<AffineExpr> places;
  for (auto [dim, size] : llvm::enumerate(op.getType().getShape())) {
    AffineExpr place = b.builder.getAffineDimExpr(dim);
    if (llvm::is_contained(op.getDimensions(), int64_t(dim)))
      place = size - 1 - place;
    places.push_back(place);
  }
  auto map = AffineMap::get(places.size(), 0, places, b.builder.getContext());
  return b.map(op.getType(), operands, map,
               [](LinalgBuilder, ValueRange scalars) { return scalars[0]; });
}

/// Collapses to one dimension and expands again where no direct grouping fits.
static Value lower(ReshapeOp op, LinalgBuilder b, ValueRange operands) {
  auto from = ranked(operands[0]);
  RankedTensorType to = op.getType();
  if (from == to)
    return operands[0];
  auto reshape = [&](Value value, RankedTensorType type) -> Value {
    auto groups = getReassociationIndicesForReshape(ranked(value), type);
    if (!groups)
      return {};
    if (ranked(value).getRank() > type.getRank())
      return tensor::CollapseShapeOp::create(b.builder, b.loc, type, value,
                                             *groups);
    return tensor::ExpandShapeOp::create(b.builder, b.loc, type, value,
                                         *groups);
  };
  if (from.getRank() != to.getRank())
    if (Value direct = reshape(operands[0], to))
      return direct;
  auto flat =
      RankedTensorType::get(from.getNumElements(), from.getElementType());
  Value middle = from == flat ? operands[0] : reshape(operands[0], flat);
  return to == flat ? middle : reshape(middle, to);
}

static Value lower(SliceOp op, LinalgBuilder b, ValueRange operands) {
  return tensor::ExtractSliceOp::create(
      b.builder, b.loc, op.getType(), operands[0],
      attributes(b.builder, op.getStarts()),
      attributes(b.builder, op.getType().getShape()),
      attributes(b.builder, op.getStrides()));
}

/// The padding, with the operand written over it.
static Value lower(PadOp op, LinalgBuilder b, ValueRange operands) {
  AffineMap scalar = b.projection(op.getType().getRank(), {});
  Value padding =
      b.map(op.getType(), operands[1], scalar,
            [](LinalgBuilder, ValueRange scalars) { return scalars[0]; });
  auto from = ranked(operands[0]);
  if (from.getNumElements() == 0)
    return padding;
  SmallVector<int64_t> strides;
  for (int64_t interior : op.getInterior())
    strides.push_back(interior + 1);
  return tensor::InsertSliceOp::create(b.builder, b.loc, operands[0], padding,
                                       attributes(b.builder, op.getLow()),
                                       attributes(b.builder, from.getShape()),
                                       attributes(b.builder, strides));
}

static Value lower(ConcatenateOp op, LinalgBuilder b, ValueRange operands) {
  Value result = b.empty(op.getType());
  SmallVector<int64_t> start(op.getType().getRank(), 0),
      ones(op.getType().getRank(), 1);
  for (Value operand : operands) {
    if (ranked(operand).getNumElements() == 0)
      continue;
    result = tensor::InsertSliceOp::create(
        b.builder, b.loc, operand, result, attributes(b.builder, start),
        attributes(b.builder, ranked(operand).getShape()),
        attributes(b.builder, ones));
    start[op.getDimension()] += ranked(operand).getDimSize(op.getDimension());
  }
  return result;
}

/// Computed starts, clamped so that a box of shape `part` lies within `whole`.
static SmallVector<OpFoldResult> clampedStarts(LinalgBuilder b,
                                               ValueRange starts,
                                               RankedTensorType whole,
                                               RankedTensorType part) {
  SmallVector<OpFoldResult> result;
  for (auto [dim, start] : llvm::enumerate(starts)) {
    Value scalar =
        tensor::ExtractOp::create(b.builder, b.loc, start, ValueRange());
    result.push_back(
        b.clampedIndex(scalar, whole.getDimSize(dim) - part.getDimSize(dim)));
  }
  return result;
}

static Value lower(DynamicSliceOp op, LinalgBuilder b, ValueRange operands) {
  auto starts = clampedStarts(b, operands.drop_front(), ranked(operands[0]),
                              op.getType());
  SmallVector<int64_t> ones(op.getType().getRank(), 1);
  return tensor::ExtractSliceOp::create(
      b.builder, b.loc, op.getType(), operands[0], starts,
      attributes(b.builder, op.getType().getShape()),
      attributes(b.builder, ones));
}

static Value lower(DynamicUpdateSliceOp op, LinalgBuilder b,
                   ValueRange operands) {
  auto part = ranked(operands[1]);
  if (part.getNumElements() == 0)
    return operands[0];
  auto starts = clampedStarts(b, operands.drop_front(2), op.getType(), part);
  SmallVector<int64_t> ones(part.getRank(), 1);
  return tensor::InsertSliceOp::create(
      b.builder, b.loc, operands[1], operands[0], starts,
      attributes(b.builder, part.getShape()), attributes(b.builder, ones));
}

void pp::attachShapeLowerings(MLIRContext *context) {
  attachLowering<BroadcastOp, lower>(context);
  attachLowering<ReshapeOp, lower>(context);
  attachLowering<TransposeOp, lower>(context);
  attachLowering<ReverseOp, lower>(context);
  attachLowering<SliceOp, lower>(context);
  attachLowering<PadOp, lower>(context);
  attachLowering<ConcatenateOp, lower>(context);
  attachLowering<DynamicSliceOp, lower>(context);
  attachLowering<DynamicUpdateSliceOp, lower>(context);
}
