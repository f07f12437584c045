//===- GradientSums.cpp - sums of gradients -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "GradientSums.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;

bool pp::isMadeInParts(Operation *op) {
  auto shardable = dyn_cast_or_null<ShardingOpInterface>(op);
  return shardable && !isa<ReshardOp, ShardingConstraintOp>(op) &&
         shardable.getShardingRule().keepsDims();
}

/// True if no stage has all operands of `op`.
static bool meetsAcrossStages(Operation *op) {
  std::optional<SmallVector<int64_t>> common;
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    ArrayRef<int64_t> home =
        producer ? getStages(producer) : ArrayRef<int64_t>();
    if (home.empty())
      continue;
    if (!common)
      common.emplace(home);
    llvm::erase_if(*common, [&](int64_t stage) {
      return !llvm::is_contained(home, stage);
    });
  }
  return common && common->empty();
}

static bool sumsUp(const ShardingRule &rule) {
  return llvm::any_of(rule.factors, [](const Factor &factor) {
    return factor.kind == FactorKind::Reduction &&
           factor.reduction == Reduction::Sum;
  });
}

/// A sum over stages travels between them, and is reduced before.
GradientSums::Form GradientSums::judge(Value value) const {
  auto shardable = value.getDefiningOp<ShardingOpInterface>();
  if (!shardable)
    return Form::Other;
  const ShardingRule rule = shardable.getShardingRule();
  auto formOf = [&](Value operand) {
    return operand.hasOneUse() ? known.lookup(operand) : Form::Other;
  };
  auto passes = [&](unsigned index) {
    return formOf(shardable->getOperand(index)) == Form::Partial &&
           !shardable.reducesFirst(index);
  };
  auto passesAll = [&](ArrayRef<unsigned> set) {
    return llvm::all_of(set, passes);
  };
  if (sumsUp(rule) ||
      (llvm::any_of(rule.additive, passesAll) && !meetsAcrossStages(shardable)))
    return Form::Partial;
  auto isOfSums = [&](Value operand) { return formOf(operand) != Form::Other; };
  return isMadeInParts(shardable) &&
                 llvm::any_of(shardable->getOperands(), isOfSums)
             ? Form::OfSums
             : Form::Other;
}

GradientSums::Form GradientSums::find(Value value) {
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Value next = pending.back();
    const size_t size = pending.size();
    auto shardable = next.getDefiningOp<ShardingOpInterface>();
    if (!known.contains(next) && shardable &&
        !sumsUp(shardable.getShardingRule()))
      for (Value operand : shardable->getOperands())
        if (operand.hasOneUse() && !known.contains(operand))
          pending.push_back(operand);
    if (pending.size() > size)
      continue;
    known.try_emplace(next, judge(next));
    pending.pop_back();
  }
  return known.lookup(value);
}
