//===- KeyDims.cpp - dimensions of the keys of a plan ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/KeyDims.h"
#include "pp/IR/Model.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pp;

/// True for values of inputs, also shifted, masked or converted: everything
/// else that they are computed from is constant.
static bool isInput(func::FuncOp main, Value value) {
  bool hasInput = false;
  llvm::SmallSetVector<Value, 8> values;
  values.insert(value);
  for (size_t next = 0; next < values.size(); ++next) {
    if (Operation *op = values[next].getDefiningOp()) {
      values.insert_range(op->getOperands());
      continue;
    }
    std::optional<Role> role =
        getArgRole(main, cast<BlockArgument>(values[next]).getArgNumber());
    if (role != Role::Input && role != Role::Label)
      return false;
    hasInput = true;
  }
  return hasInput;
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
