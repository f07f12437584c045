//===- ConstraintCheck.cpp - the model's constraints hold together --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ConstraintCheck.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace pp;

ConstraintCheck::ConstraintCheck(func::FuncOp main, MeshAttr mesh,
                                 FlatSymbolRefAttr symbol)
    : mesh(mesh), symbol(symbol) {
  for (auto constraint : main.getOps<ShardingConstraintOp>())
    constraints.insert(constraint);
}

void ConstraintCheck::enter(BlockArgument argument,
                            const SeededSharding &sharding) {
  if (!constraints.empty())
    arguments
        .try_emplace(argument, SeededSharding(argument.getLoc(), "",
                                              argument.getType(), mesh))
        .first->second.addClosed(sharding);
}

/// The value that a constraint constrains. A name that seeds use is a separate
/// value, and so is the value that a barrier gives its readers.
Value ConstraintCheck::findValue(ShardingConstraintOp constraint) const {
  if (constraint.getBarrier() &&
      constraint.getSide() == ConstrainedSide::Result)
    return constraint.getResult();
  Value value = constraint.getOperand();
  while (Operation *op = value.getDefiningOp()) {
    auto other = dyn_cast<ShardingConstraintOp>(op);
    if (other ? other.getBarrier() || !isOfModel(other) : !isa<ReshardOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Adds the seeds of a value that they name.
LogicalResult ConstraintCheck::addOthers(Value value,
                                         SeededSharding &sharding) {
  auto seed = value.getDefiningOp<ShardingConstraintOp>();
  while (seed && !isOfModel(seed)) {
    if (seed.getBarrier() && seed.getSide() == ConstrainedSide::Operand)
      break;
    if (failed(sharding.addConstraint(seed, symbol)))
      return failure();
    if (seed.getBarrier())
      break;
    seed = seed.getOperand().getDefiningOp<ShardingConstraintOp>();
  }
  return success();
}

LogicalResult ConstraintCheck::run() {
  llvm::MapVector<Value, SeededSharding> values;
  for (ShardingConstraintOp constraint : constraints) {
    Value value = findValue(constraint);
    SeededSharding none(value.getLoc(), "", value.getType(), mesh);
    auto argument = arguments.find(value);
    auto [entry, isNew] = values.try_emplace(
        value, argument == arguments.end() ? none : argument->second);
    if (isNew && failed(addOthers(value, entry->second)))
      return failure();
    if (failed(entry->second.addConstraint(constraint, symbol)))
      return failure();
  }
  for (auto &[value, sharding] : values)
    if (failed(sharding.merge()))
      return failure();
  return success();
}
