//===- PrecisionPolicy.cpp - what each op does in 16 bits -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "PrecisionPolicy.h"
#include "pp/IR/PP.h"
#include "pp/IR/Values.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pp;

/// Of values that depend on the batch, a factor that does not: a literal scales
/// exactly up to one rounding, as a mask or the temperature of a softmax does.
static PrecisionRule ruleOfScale(Operation *op,
                                 const llvm::DenseSet<Value> &batch) {
  Value factor;
  for (Value operand : op->getOperands())
    if (!batch.contains(operand))
      factor = operand;
  if (!factor || (isa<DivOp>(op) && factor != op->getOperand(1)))
    return PrecisionRule::Wide;
  return getSplat(factor) ? PrecisionRule::Moves : PrecisionRule::Follows;
}

static PrecisionRule ruleOfReduction(Reduction reduction) {
  const bool isExact =
      reduction == Reduction::Max || reduction == Reduction::Min;
  return isExact ? PrecisionRule::Follows : PrecisionRule::Wide;
}

PrecisionRule pp::getPrecisionRule(Operation *op,
                                   const llvm::DenseSet<Value> &batch) {
  return llvm::TypeSwitch<Operation *, PrecisionRule>(op)
      .Case<DotGeneralOp, ConvolutionOp>(
          [](auto) { return PrecisionRule::Low; })
      .Case<AddOp, MaxOp, MinOp, ScatterAddOp, StopGradientOp, CompareOp,
            ArgmaxOp, TopKOp>([](auto) { return PrecisionRule::Follows; })
      .Case<MulOp, DivOp>([&](auto) { return ruleOfScale(op, batch); })
      .Case<ReduceOp, ReduceWindowOp>(
          [](auto reduce) { return ruleOfReduction(reduce.getReduction()); })
      .Case([&](GatherOp gather) {
        return batch.contains(gather.getOperand()) ? PrecisionRule::Moves
                                                   : PrecisionRule::Rounds;
      })
      .Case<NegOp, AbsOp, NameOp, ShardingConstraintOp>(
          [](auto) { return PrecisionRule::Moves; })
      .Default([](Operation *other) {
        return other->hasTrait<MovesElements>() ? PrecisionRule::Moves
                                                : PrecisionRule::Wide;
      });
}
