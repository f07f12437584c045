//===- KeyDims.cpp - dimensions of the keys of a plan ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/KeyDims.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;

/// True for values of an input, through ops that only convert it.
static bool isInput(func::FuncOp main, Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ConvertOp, ReshapeOp, TransposeOp, BroadcastOp, NameOp>(op))
      return false;
    value = op->getOperand(0);
  }
  std::optional<Role> role =
      getArgRole(main, cast<BlockArgument>(value).getArgNumber());
  return role == Role::Input || role == Role::Label;
}

std::optional<unsigned> pp::findLookUp(func::FuncOp main, Operation *op) {
  auto gather = dyn_cast<GatherOp>(op);
  if (!gather || !isInput(main, gather.getIndices()))
    return std::nullopt;
  return gather.getBatchDims();
}

KeyDims::KeyDims(func::FuncOp main) {
  Block &body = main.getBody().front();
  for (BlockArgument argument : main.getArguments())
    classes.addValue(argument);
  for (Operation &op : body.without_terminator())
    if (auto shardable = dyn_cast<ShardingOpInterface>(op))
      classes.addOp(&op, shardable.getShardingRule());
  sequence.resize(classes.numClasses());
  lookedUp.resize(classes.numClasses());
  for (BlockArgument argument : main.getArguments())
    if (auto dims = main.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(),
                                                     attrs::kDims))
      for (auto [dim, name] :
           llvm::enumerate(dims.getAsValueRange<StringAttr>()))
        if (name == "sequence")
          for (FactorClasses::Class number : classes.classesOf(argument, dim))
            sequence.set(number);
  for (Operation &op : body.without_terminator())
    if (std::optional<unsigned> factor = findLookUp(main, &op);
        factor && getKind(&op) == Kind::Forward)
      for (FactorClasses::Class number : classes.classesOf(&op, *factor))
        lookedUp.set(number);
}

bool KeyDims::isOf(PlanKey key, ArrayRef<FactorClasses::Class> numbers) const {
  if (key != PlanKey::Sequence && key != PlanKey::Vocab)
    return false;
  const llvm::BitVector &ofKey = key == PlanKey::Sequence ? sequence : lookedUp;
  return llvm::all_of(
      numbers, [&](FactorClasses::Class number) { return ofKey.test(number); });
}
