//===- Folds.cpp - simplifications of graph ops ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Simplifies the output of differentiation: zeros added, ones multiplied, moves
// undone. A fold returns an existing value or changes its op in place, so
// origins and kinds stay. Broadcast constants are not merged into literals: a
// shared literal of full shape would tie the shardings of its users together.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"

using namespace mlir;
using namespace pp;

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult NegOp::fold(FoldAdaptor) {
  auto inner = getOperand().getDefiningOp<NegOp>();
  return inner ? inner.getOperand() : Value();
}

OpFoldResult NotOp::fold(FoldAdaptor) {
  auto inner = getOperand().getDefiningOp<NotOp>();
  return inner ? inner.getOperand() : Value();
}

OpFoldResult AddOp::fold(FoldAdaptor) {
  if (getSplat(getRhs()) == 0.0)
    return getLhs();
  return getSplat(getLhs()) == 0.0 ? getRhs() : Value();
}

OpFoldResult SubOp::fold(FoldAdaptor) {
  return getSplat(getRhs()) == 0.0 ? getLhs() : Value();
}

OpFoldResult MulOp::fold(FoldAdaptor) {
  if (getSplat(getRhs()) == 1.0)
    return getLhs();
  return getSplat(getLhs()) == 1.0 ? getRhs() : Value();
}

OpFoldResult DivOp::fold(FoldAdaptor) {
  return getSplat(getRhs()) == 1.0 ? getLhs() : Value();
}

OpFoldResult SelectOp::fold(FoldAdaptor) {
  if (getOnTrue() == getOnFalse() || getSplat(getPredicate()) == 1.0)
    return getOnTrue();
  return getSplat(getPredicate()) == 0.0 ? getOnFalse() : Value();
}

OpFoldResult ConvertOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  auto inner = getOperand().getDefiningOp<ConvertOp>();
  if (!inner)
    return {};
  Value source = inner.getOperand();
  if (!isExact(getElementTypeOrSelf(source), getElementTypeOrSelf(inner)))
    return {};
  if (source.getType() == getType())
    return source;
  getOperandMutable().assign(source);
  return getResult();
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  auto inner = getOperand().getDefiningOp<BroadcastOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> dims;
  for (int64_t dim : inner.getDimensions())
    dims.push_back(getDimensions()[dim]);
  getOperandMutable().assign(inner.getOperand());
  setDimensions(dims);
  return getResult();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  auto inner = getOperand().getDefiningOp<ReshapeOp>();
  if (!inner)
    return {};
  if (inner.getOperand().getType() == getType())
    return inner.getOperand();
  getOperandMutable().assign(inner.getOperand());
  return getResult();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (isIdentityPermutation(getPermutation()))
    return getOperand();
  auto inner = getOperand().getDefiningOp<TransposeOp>();
  if (!inner)
    return {};
  SmallVector<int64_t> composed;
  for (int64_t dim : getPermutation())
    composed.push_back(inner.getPermutation()[dim]);
  if (isIdentityPermutation(composed))
    return inner.getOperand();
  getOperandMutable().assign(inner.getOperand());
  setPermutation(composed);
  return getResult();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? getOperand() : Value();
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? getOperand() : Value();
}

OpFoldResult ConcatenateOp::fold(FoldAdaptor) {
  return getOperands().size() == 1 ? getOperands().front() : Value();
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  return getDimensions().empty() ? getOperand() : Value();
}

//===----------------------------------------------------------------------===//
// Sums of pads
//===----------------------------------------------------------------------===//

namespace {

/// A tensor placed between zeros along one dimension.
struct Placed {
  Value value;
  int64_t begin, end;
};

/// The pads that a tree of adds sums up, where inner sums have no other use;
/// none if it sums up anything else.
SmallVector<PadOp> collectPads(AddOp root) {
  SmallVector<PadOp> pads;
  SmallVector<Value> pending{root.getLhs(), root.getRhs()};
  while (!pending.empty()) {
    Value addend = pending.pop_back_val();
    auto add = addend.getDefiningOp<AddOp>();
    if (add && add->hasOneUse()) {
      pending.append({add.getLhs(), add.getRhs()});
      continue;
    }
    auto pad = addend.getDefiningOp<PadOp>();
    if (!pad)
      return {};
    pads.push_back(pad);
  }
  return pads;
}

/// The place of `pad`'s operand, if it pads with zeros and along `dim` alone.
std::optional<Placed> placedAlong(PadOp pad, int64_t dim) {
  if (getSplat(pad.getValue()) != 0.0 ||
      llvm::any_of(pad.getInterior(), [](int64_t amount) { return amount; }))
    return std::nullopt;
  for (int64_t other = 0; other < pad.getType().getRank(); ++other)
    if (other != dim && (pad.getLow()[other] || pad.getHigh()[other]))
      return std::nullopt;
  int64_t end = pad.getType().getDimSize(dim) - pad.getHigh()[dim];
  return Placed{pad.getOperand(), pad.getLow()[dim], end};
}

/// The first dimension along which a pad surrounds its operand, or -1.
int64_t paddedDim(PadOp pad) {
  for (int64_t dim = 0; dim < pad.getType().getRank(); ++dim)
    if (pad.getLow()[dim] || pad.getHigh()[dim])
      return dim;
  return -1;
}

/// pad(a) + pad(b) + ... -> concatenate a, b, ... where the parts fill the
/// dimension. The gradient of slices that divide a tensor is such a sum.
struct SumOfPads : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<PadOp> pads = collectPads(op);
    int64_t dim = pads.empty() ? -1 : paddedDim(pads.front());
    if (dim < 0)
      return failure();
    SmallVector<Placed> parts;
    for (PadOp pad : pads) {
      std::optional<Placed> part = placedAlong(pad, dim);
      if (!part)
        return failure();
      parts.push_back(*part);
    }
    llvm::sort(parts, [](const Placed &a, const Placed &b) {
      return a.begin < b.begin;
    });
    int64_t end = 0;
    SmallVector<Value> values;
    for (const Placed &part : parts) {
      if (part.begin != end)
        return failure();
      end = part.end;
      values.push_back(part.value);
    }
    if (end != cast<RankedTensorType>(op.getType()).getDimSize(dim))
      return failure();
    auto joined =
        ConcatenateOp::create(rewriter, op.getLoc(), op.getType(), values, dim);
    for (StringRef name : {attrs::kKind, attrs::kOrigin, attrs::kStages})
      if (Attribute attribute = op->getAttr(name))
        joined->setAttr(name, attribute);
    rewriter.replaceOp(op, joined);
    return success();
  }
};

} // namespace

void AddOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                        MLIRContext *context) {
  patterns.add<SumOfPads>(context);
}
