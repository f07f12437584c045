//===- ShardingRulesWindow.cpp - what slides, as einsums ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A convolution is a contraction in all but its window dimensions. Those are
// replicated-only: a shard would need its neighbours' edges.
//
//===----------------------------------------------------------------------===//
#include "ShardingModels.h"

using namespace mlir;
using namespace pp;

namespace {

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
  auto addWhole = [&](int64_t size) -> DimFactors {
    return {rule.addFactor(size, FactorKind::Replicated)};
  };
  for (auto [left, right, out] : llvm::zip_equal(
           op.getLhsWindow(), op.getRhsWindow(), op.getResultWindow())) {
    lhs[left] = addWhole(lhsShape[left]);
    rhs[right] = addWhole(rhsShape[right]);
    result[out] = addWhole(resultShape[out]);
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
  for (auto [dim, size] : llvm::enumerate(shape)) {
    bool slides =
        llvm::is_contained(op.getDimensions(), static_cast<int64_t>(dim));
    FactorKind kind = slides ? FactorKind::Replicated : FactorKind::Parallel;
    whole.push_back({rule.addFactor(size, kind)});
    pooled.push_back(slides ? DimFactors{rule.addFactor(pooledShape[dim], kind)}
                            : whole.back());
  }
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
