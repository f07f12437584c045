//===- ShardingRulesWindow.cpp - ops with windows, as einsums -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A convolution is a contraction in all but its window dimensions. If windows
// do not overlap, a dimension is positions x elements of each, and shards have
// whole windows; if they do, a shard would need its neighbours' edges.
//
//===----------------------------------------------------------------------===//
#include "ShardingModels.h"
#include "pp/IR/Windows.h"

using namespace mlir;
using namespace pp;

namespace {

/// The factors of a window dimension, of the window and of its positions.
struct SlidingFactors {
  DimFactors operand, window, result;
};

/// Positions and the elements of each: one factor of `count` on both sides, and
/// `within` on one of them.
std::pair<DimFactors, DimFactors> addBlocks(ShardingRule &rule, int64_t count,
                                            int64_t within, FactorKind kind) {
  const int64_t blocks = rule.addFactor(count, kind);
  DimFactors split = {blocks};
  if (within > 1)
    split.push_back(rule.addFactor(within, FactorKind::Replicated));
  return {split, {blocks}};
}

SlidingFactors addSliding(ShardingRule &rule, const Window &window,
                          int64_t positions) {
  SlidingFactors factors;
  auto addWhole = [&](int64_t size, FactorKind kind) -> DimFactors {
    return {rule.addFactor(size, kind)};
  };
  const int64_t reach = (window.taps - 1) * window.dilation;
  // Every position has its own elements.
  if (window.low == 0 && window.baseDilation == 1 && reach < window.stride &&
      positions * window.stride == window.size) {
    std::tie(factors.operand, factors.result) =
        addBlocks(rule, positions, window.stride, FactorKind::Parallel);
    factors.window = addWhole(window.taps, FactorKind::Replicated);
    return factors;
  }
  // Every element has its own positions: the gradient of the former.
  if (window.low == reach && window.stride == 1 &&
      reach < window.baseDilation &&
      positions == window.size * window.baseDilation) {
    std::tie(factors.result, factors.operand) =
        addBlocks(rule, window.size, window.baseDilation, FactorKind::Parallel);
    factors.window = addWhole(window.taps, FactorKind::Replicated);
    return factors;
  }
  factors.operand = addWhole(window.size, FactorKind::Neighbours);
  factors.window = addWhole(window.taps, FactorKind::Replicated);
  factors.result = addWhole(positions, FactorKind::Neighbours);
  return factors;
}

/// The same for a contracted window, which may be split: every tap has its own
/// elements in the gradient of such a window.
SlidingFactors addContracted(ShardingRule &rule, const Window &window,
                             int64_t positions, bool isReversed) {
  const int64_t reach = (positions - 1) * window.stride;
  if (isReversed || window.low != 0 || window.baseDilation != 1 ||
      reach >= window.dilation || window.taps * window.dilation != window.size)
    return addSliding(rule, window, positions);
  SlidingFactors factors;
  std::tie(factors.operand, factors.window) =
      addBlocks(rule, window.taps, window.dilation, FactorKind::Reduction);
  factors.result = {rule.addFactor(positions, FactorKind::Replicated)};
  return factors;
}

ShardingRule convolutionRule(ConvolutionOp op) {
  ShardingRule rule;
  ArrayRef<int64_t> lhsShape = shapeOf(op.getLhs()),
                    rhsShape = shapeOf(op.getRhs()),
                    resultShape = shapeOf(op.getResult());
  TensorFactors lhs(lhsShape.size()), rhs(rhsShape.size()),
      result(resultShape.size());
  SmallVector<int64_t> plain = op.getResultPlain();
  ArrayRef<int64_t> next = plain;
  auto addToResult = [&](int64_t size) -> DimFactors {
    DimFactors factors = {rule.addFactor(size)};
    result[next.front()] = factors;
    next = next.drop_front();
    return factors;
  };
  for (auto [left, right] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
    lhs[left] = rhs[right] = addToResult(lhsShape[left]);
  for (int64_t dim : op.getLhsFree())
    lhs[dim] = addToResult(lhsShape[dim]);
  for (int64_t dim : op.getRhsFree())
    rhs[dim] = addToResult(rhsShape[dim]);
  for (auto [left, right] :
       llvm::zip_equal(op.getLhsContract(), op.getRhsContract()))
    lhs[left] =
        rhs[right] = {rule.addFactor(lhsShape[left], FactorKind::Reduction)};
  for (auto [index, left, right, out] : llvm::enumerate(
           op.getLhsWindow(), op.getRhsWindow(), op.getResultWindow())) {
    SlidingFactors factors = addContracted(rule, getWindow(op, index),
                                           resultShape[out], op.getReverse());
    lhs[left] = factors.operand;
    rhs[right] = factors.window;
    result[out] = factors.result;
  }
  rule.operands = {lhs, rhs};
  rule.results = {result};
  rule.additive = {{0}, {1}};
  return rule;
}

/// Windows over some dimensions of tensors that share the others.
template <typename OpTy>
std::pair<TensorFactors, TensorFactors>
addPooled(ShardingRule &rule, OpTy op, ArrayRef<int64_t> pooledShape) {
  ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  TensorFactors whole, pooled;
  whole = pooled = TensorFactors(shape.size());
  for (auto [index, dim] : llvm::enumerate(op.getDimensions())) {
    SlidingFactors factors =
        addSliding(rule, getWindow(op, index), pooledShape[dim]);
    whole[dim] = factors.operand;
    pooled[dim] = factors.result;
  }
  for (auto [dim, size] : llvm::enumerate(shape))
    if (whole[dim].empty())
      whole[dim] = pooled[dim] = {rule.addFactor(size)};
  return {whole, pooled};
}

ShardingRule reduceWindowRule(ReduceWindowOp op) {
  ShardingRule rule;
  auto [whole, pooled] = addPooled(rule, op, shapeOf(op.getResult()));
  rule.operands = {whole};
  rule.results = {pooled};
  if (op.getReduction() == Reduction::Sum)
    rule.additive = {{0}};
  return rule;
}

ShardingRule selectAndScatterRule(SelectAndScatterOp op) {
  ShardingRule rule;
  auto [whole, pooled] = addPooled(rule, op, shapeOf(op.getUpdates()));
  rule.operands = {whole, pooled};
  rule.results = {whole};
  rule.additive = {{1}};
  return rule;
}

} // namespace

void pp::registerWindowShardings(MLIRContext *context) {
  ConvolutionOp::attachInterface<ShardingModel<ConvolutionOp, convolutionRule>>(
      *context);
  ReduceWindowOp::attachInterface<
      ShardingModel<ReduceWindowOp, reduceWindowRule>>(*context);
  SelectAndScatterOp::attachInterface<
      ShardingModel<SelectAndScatterOp, selectAndScatterRule>>(*context);
}
