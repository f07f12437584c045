//===- ShardingRulesShape.cpp - ops that move elements, as einsums --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A dimension that such an op keeps is parallel, and so is one from which it
// takes every n-th element: it is blocks x elements of a block. If the op has
// `pp.in_shards`, each shard gives its part of a cut, to be summed. All other
// cut, padded or joined dimensions are replicated, with separate factors on
// either side.
//
//===----------------------------------------------------------------------===//
#include "ShardingModels.h"

using namespace mlir;
using namespace pp;

namespace {

//===----------------------------------------------------------------------===//
// Broadcast, transpose
//===----------------------------------------------------------------------===//

ShardingRule broadcastRule(BroadcastOp op) {
  ShardingRule rule;
  TensorFactors result = addParallel(rule, shapeOf(op.getResult()));
  TensorFactors operand;
  for (int64_t dim : op.getDimensions())
    operand.push_back(result[dim]);
  rule.operands = {operand};
  rule.results = {result};
  rule.additive = {{0}};
  return rule;
}

ShardingRule transposeRule(TransposeOp op) {
  ShardingRule rule;
  TensorFactors operand = addParallel(rule, shapeOf(op.getOperand()));
  TensorFactors result;
  for (int64_t dim : op.getPermutation())
    result.push_back(operand[dim]);
  rule.operands = {operand};
  rule.results = {result};
  rule.additive = {{0}};
  return rule;
}

/// An element comes from the other end, so a reversed dimension is needed
/// whole.
ShardingRule reverseRule(ReverseOp op) {
  ShardingRule rule;
  TensorFactors tensor = addParallel(rule, shapeOf(op.getOperand()));
  for (int64_t dim : op.getDimensions())
    rule.factors[tensor[dim].front()].kind = FactorKind::Replicated;
  rule.operands = {tensor};
  rule.results = {tensor};
  rule.additive = {{0}};
  return rule;
}

//===----------------------------------------------------------------------===//
// Reshape
//===----------------------------------------------------------------------===//

/// Walks two shapes from the minor end and gives every dimension its factors.
/// Dimensions are grouped where the shapes' minor products meet; a group is
/// refined into common factors where its boundaries divide one another, and is
/// replicated otherwise ([4, 6] against [6, 4]).
class ReshapeFactors {
public:
  ReshapeFactors(ShardingRule &rule, ArrayRef<int64_t> from,
                 ArrayRef<int64_t> to)
      : rule(rule), shapes{from, to},
        tensors{TensorFactors(from.size()), TensorFactors(to.size())} {
    int64_t ends[2] = {static_cast<int64_t>(from.size()),
                       static_cast<int64_t>(to.size())};
    while (ends[0] > 0 || ends[1] > 0) {
      int64_t begins[2] = {ends[0], ends[1]};
      int64_t products[2] = {1, 1};
      do {
        // The smaller side takes one more dimension; ones go wherever.
        int side =
            begins[0] > 0 && (products[0] <= products[1] || begins[1] == 0) ? 0
                                                                            : 1;
        products[side] *= shapes[side][--begins[side]];
        // In an empty tensor the dimensions behind the zero are of no account.
        if (products[0] == 0 && products[1] == 0)
          begins[0] = begins[1] = 0;
      } while (products[0] != products[1]);
      addGroup(begins, ends);
      ends[0] = begins[0];
      ends[1] = begins[1];
    }
    rule.operands = {tensors[0]};
    rule.results = {tensors[1]};
  }

private:
  /// Boundaries of a group's dimensions: minor products, ascending.
  void addGroup(const int64_t (&begins)[2], const int64_t (&ends)[2]) {
    SmallVector<int64_t> boundaries = {1};
    for (int side : {0, 1}) {
      int64_t product = 1;
      for (int64_t dim = ends[side]; dim-- > begins[side];)
        boundaries.push_back(product *= shapes[side][dim]);
    }
    llvm::sort(boundaries);
    boundaries.erase(llvm::unique(boundaries), boundaries.end());
    bool refines = boundaries.front() != 0; // an empty tensor
    for (size_t i = 1; refines && i < boundaries.size(); ++i)
      refines = boundaries[i] % boundaries[i - 1] == 0;
    if (!refines) {
      for (int side : {0, 1})
        for (int64_t dim = begins[side]; dim < ends[side]; ++dim)
          tensors[side][dim] = {
              rule.addFactor(shapes[side][dim], FactorKind::Replicated)};
      return;
    }
    SmallVector<int64_t> factors; // minor to major
    for (size_t i = 1; i < boundaries.size(); ++i)
      factors.push_back(rule.addFactor(boundaries[i] / boundaries[i - 1]));
    for (int side : {0, 1}) {
      size_t next = 0;
      for (int64_t dim = ends[side]; dim-- > begins[side];) {
        int64_t rest = shapes[side][dim];
        DimFactors &ofDim = tensors[side][dim];
        for (; rest > 1; ++next) {
          ofDim.insert(ofDim.begin(), factors[next]);
          rest /= rule.factors[factors[next]].size;
        }
      }
    }
  }

  ShardingRule &rule;
  ArrayRef<int64_t> shapes[2];
  TensorFactors tensors[2];
};

ShardingRule reshapeRule(ReshapeOp op) {
  ShardingRule rule;
  const ReshapeFactors fill(rule, shapeOf(op.getOperand()),
                            shapeOf(op.getResult()));
  rule.additive = {{0}};
  return rule;
}

//===----------------------------------------------------------------------===//
// Slice, pad, concatenate
//===----------------------------------------------------------------------===//

/// Adds factors for a pair of tensors: shared where a dimension `isWhole`.
template <typename Predicate>
std::pair<TensorFactors, TensorFactors>
addWhereWhole(ShardingRule &rule, ArrayRef<int64_t> from, ArrayRef<int64_t> to,
              Predicate isWhole) {
  TensorFactors operand, result;
  for (size_t dim = 0; dim < from.size(); ++dim) {
    if (isWhole(dim)) {
      operand.push_back({rule.addFactor(from[dim])});
      result.push_back(operand.back());
      continue;
    }
    operand.push_back({rule.addFactor(from[dim], FactorKind::Replicated)});
    result.push_back({rule.addFactor(to[dim], FactorKind::Replicated)});
  }
  return {operand, result};
}

bool isWhole(SliceOp op, size_t dim) {
  return op.getStarts()[dim] == 0 &&
         op.getLimits()[dim] == shapeOf(op.getOperand())[dim] &&
         op.getStrides()[dim] == 1;
}

/// Whether a slice takes the same element of every block of its dimension.
bool isOfBlocks(SliceOp op, size_t dim) {
  const int64_t stride = op.getStrides()[dim];
  return op.getStarts()[dim] < stride &&
         shapeOf(op.getResult())[dim] * stride == shapeOf(op.getOperand())[dim];
}

/// Whether a slice is more than a part of the elements of each shard.
bool isCut(SliceOp op) {
  return op.getType().getNumElements() > 0 &&
         llvm::any_of(llvm::seq<size_t>(op.getType().getRank()),
                      [&](size_t dim) {
                        return !isWhole(op, dim) && !isOfBlocks(op, dim);
                      });
}

/// Gathering serves all slices of the operand.
std::optional<ShardSum> countSlice(SliceOp op) {
  if (!isCut(op))
    return std::nullopt;
  ShardSum sum{0, ranked(op.getOperand()).getNumElements()};
  for (Operation *user : op.getOperand().getUsers())
    if (auto slice = dyn_cast<SliceOp>(user))
      sum.summed += slice.getType().getNumElements();
  return sum;
}

ShardingRule sliceRule(SliceOp op) {
  ShardingRule rule;
  ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  TensorFactors operand, result;
  const bool isSummed = isInShards(op) && isCut(op);
  for (auto [dim, size] : llvm::enumerate(shape)) {
    const int64_t taken = shapeOf(op.getResult())[dim];
    if (isWhole(op, dim) || isOfBlocks(op, dim)) {
      result.push_back({rule.addFactor(taken)});
      operand.push_back(result.back());
      if (taken < size)
        operand.back().push_back(
            rule.addFactor(size / taken, FactorKind::Replicated));
      continue;
    }
    operand.push_back({rule.addFactor(
        size, isSummed ? FactorKind::Reduction : FactorKind::Replicated)});
    Factor &cut = rule.factors.back();
    cut.needsLocalize = isSummed;
    if (op.getType().getElementType().isInteger(1))
      cut.reduction = Reduction::Or;
    result.push_back({rule.addFactor(taken, FactorKind::Replicated)});
  }
  rule.operands = {operand};
  rule.results = {result};
  rule.additive = {{0}};
  rule.selected = {0};
  return rule;
}

/// The shard's part of a cut, and zeros for the rest: a box of the cut's size
/// from between equally many zeros on either side, since boxes end with their
/// tensors.
Value takePart(SliceOp op, const Localization &local, ArrayRef<int64_t> factors,
               ArrayRef<bool> isCut) {
  OpBuilder &builder = local.builder;
  Location loc = op.getLoc();
  RankedTensorType type = local.operandType(0);
  const Type i32 = builder.getI32Type();
  auto scalar = RankedTensorType::get({}, i32);
  SmallVector<int64_t> box(type.getShape()), margin(box.size(), 0), padded(box),
      none(box.size(), 0);
  SmallVector<Value> starts;
  for (size_t dim = 0; dim < box.size(); ++dim) {
    if (!isCut[dim]) {
      starts.push_back(splat(builder, loc, scalar, 0));
      continue;
    }
    const int64_t size = box[dim];
    box[dim] = margin[dim] =
        (shapeOf(op.getResult())[dim] - 1) * op.getStrides()[dim] + 1;
    padded[dim] = size + 2 * margin[dim];
    starts.push_back(SubOp::create(
        builder, loc,
        splat(builder, loc, scalar, op.getStarts()[dim] + margin[dim]),
        shardOffset(local, loc, local.factorAxes[factors[dim]], size, i32)));
  }
  const Type element = type.getElementType();
  Value zero =
      splat(builder, loc, RankedTensorType::get({}, element), /*value=*/0);
  Value wide =
      PadOp::create(builder, loc, RankedTensorType::get(padded, element),
                    local.operands[0], zero, margin, margin, none);
  return DynamicSliceOp::create(
      builder, loc, RankedTensorType::get(box, element), wide, starts);
}

/// A whole dimension's limit is its local size.
LocalValues localizeSlice(SliceOp op, const Localization &local) {
  const ShardingRule rule = sliceRule(op);
  ArrayRef<int64_t> global = shapeOf(op.getOperand());
  ArrayRef<int64_t> shape = local.operandType(0).getShape();
  SmallVector<int64_t> starts(op.getStarts()), limits(op.getLimits()), factors;
  SmallVector<bool> isCut;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    factors.push_back(rule.operands[0][dim].front());
    isCut.push_back(rule.factors[factors[dim]].kind == FactorKind::Reduction &&
                    local.isSharded(factors[dim]));
    if (shape[dim] != global[dim])
      limits[dim] = shape[dim];
  }
  auto clone = cast<SliceOp>(cloneLocally(op, local));
  if (llvm::is_contained(isCut, true)) {
    OpBuilder::InsertionGuard guard(local.builder);
    local.builder.setInsertionPoint(clone);
    Value part = takePart(op, local, factors, isCut);
    for (size_t dim = 0; dim < shape.size(); ++dim)
      if (isCut[dim]) {
        starts[dim] = 0;
        limits[dim] = shapeOf(part)[dim];
      }
    clone.getOperandMutable().assign(part);
  }
  clone.setStarts(starts);
  clone.setLimits(limits);
  return SmallVector<Value>{clone.getResult()};
}

void resizeSlice(SliceOp op, OpBuilder &, const ShardingRule &rule) {
  SmallVector<int64_t> limits(op.getLimits());
  for (auto [dim, factors] : llvm::enumerate(rule.operands[0]))
    if (rule.factors[factors.front()].kind == FactorKind::Parallel)
      limits[dim] = shapeOf(op.getOperand())[dim];
  op.setLimits(limits);
}

/// Whether padding makes a block of every element: the gradient of a slice of
/// blocks.
bool isOfBlocks(PadOp op, size_t dim) {
  const int64_t between = op.getInterior()[dim];
  return op.getLow()[dim] >= 0 && op.getHigh()[dim] >= 0 &&
         op.getLow()[dim] + op.getHigh()[dim] == between &&
         shapeOf(op.getOperand())[dim] > 0;
}

ShardingRule padRule(PadOp op) {
  ShardingRule rule;
  TensorFactors operand, result;
  for (auto [dim, size, grown] :
       llvm::enumerate(shapeOf(op.getOperand()), shapeOf(op.getResult()))) {
    if (!isOfBlocks(op, dim)) {
      operand.push_back({rule.addFactor(size, FactorKind::Replicated)});
      result.push_back({rule.addFactor(grown, FactorKind::Replicated)});
      continue;
    }
    operand.push_back({rule.addFactor(size)});
    result.push_back(operand.back());
    if (int64_t between = op.getInterior()[dim])
      result.back().push_back(
          rule.addFactor(between + 1, FactorKind::Replicated));
  }
  rule.operands = {operand, {}};
  rule.results = {result};
  rule.additive = {{0, 1}};
  if (getSplat(op.getValue()) == 0.0)
    rule.additive.push_back({0});
  return rule;
}

ShardingRule concatenateRule(ConcatenateOp op) {
  ShardingRule rule;
  size_t joined = op.getDimension();
  TensorFactors result = addParallel(rule, shapeOf(op.getResult()));
  rule.factors[joined].kind = FactorKind::Replicated;
  SmallVector<unsigned, 2> all;
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    TensorFactors &operand = rule.operands.emplace_back(result);
    operand[joined] = {
        rule.addFactor(shapeOf(value)[joined], FactorKind::Replicated)};
    all.push_back(index);
  }
  rule.results = {result};
  rule.additive = {all};
  return rule;
}

//===----------------------------------------------------------------------===//
// Dynamic slices: a start is clamped, so a whole dimension starts at 0
//===----------------------------------------------------------------------===//

ShardingRule dynamicSliceRule(DynamicSliceOp op) {
  ShardingRule rule;
  ArrayRef<int64_t> from = shapeOf(op.getOperand());
  ArrayRef<int64_t> to = shapeOf(op.getResult());
  auto [operand, result] = addWhereWhole(
      rule, from, to, [&](size_t dim) { return from[dim] == to[dim]; });
  rule.operands.push_back(operand);
  rule.operands.resize(op->getNumOperands());
  rule.results = {result};
  rule.additive = {{0}};
  return rule;
}

ShardingRule dynamicUpdateSliceRule(DynamicUpdateSliceOp op) {
  ShardingRule rule;
  ArrayRef<int64_t> whole = shapeOf(op.getOperand());
  ArrayRef<int64_t> part = shapeOf(op.getUpdate());
  auto [operand, update] = addWhereWhole(
      rule, whole, part, [&](size_t dim) { return whole[dim] == part[dim]; });
  rule.operands = {operand, update};
  rule.operands.resize(op->getNumOperands());
  rule.results = {operand};
  rule.additive = {{0, 1}};
  return rule;
}

} // namespace

void pp::registerShapeShardings(MLIRContext *context) {
  BroadcastOp::attachInterface<ShardingModel<BroadcastOp, broadcastRule>>(
      *context);
  ReverseOp::attachInterface<ShardingModel<ReverseOp, reverseRule>>(*context);
  TransposeOp::attachInterface<ShardingModel<TransposeOp, transposeRule>>(
      *context);
  ReshapeOp::attachInterface<ShardingModel<ReshapeOp, reshapeRule>>(*context);
  SliceOp::attachInterface<
      SumModel<SliceOp, sliceRule, localizeSlice, resizeSlice, countSlice>>(
      *context);
  PadOp::attachInterface<ShardingModel<PadOp, padRule>>(*context);
  ConcatenateOp::attachInterface<ShardingModel<ConcatenateOp, concatenateRule>>(
      *context);
  DynamicSliceOp::attachInterface<
      ShardingModel<DynamicSliceOp, dynamicSliceRule>>(*context);
  DynamicUpdateSliceOp::attachInterface<
      ShardingModel<DynamicUpdateSliceOp, dynamicUpdateSliceRule>>(*context);
}
