//===- ConstraintCheck.cpp - the model's constraints hold together --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ConstraintCheck.h"
#include "pp/Transforms/Cause.h"
#include "pp/Transforms/Sources.h"

using namespace mlir;
using namespace pp;

ConstraintCheck::ConstraintCheck(func::FuncOp main, MeshAttr mesh,
                                 FlatSymbolRefAttr symbol)
    : mesh(mesh), symbol(symbol),
      constraints(main.getOps<ShardingConstraintOp>()) {}

void ConstraintCheck::enter(BlockArgument argument,
                            const SeededSharding &sharding) {
  if (constraints.empty())
    return;
  Argument &entry = arguments[argument];
  entry.sharding = sharding.getMerged(symbol);
  for (unsigned dim = 0; dim < entry.sharding.getRank(); ++dim)
    entry.owners.push_back(sharding.getOwner(dim).str());
}

LogicalResult
ConstraintCheck::compare(ShardingConstraintOp constraint, Value value,
                         ArrayRef<DimShardingAttr> dims,
                         function_ref<std::string(unsigned)> getOwner) {
  ArrayRef<DimShardingAttr> wanted = constraint.getSharding().getDims();
  for (auto [dim, mine, other] : llvm::enumerate(wanted, dims)) {
    if (mine.getIsOpen() || other.getIsOpen() || mine == other)
      continue;
    InFlightDiagnostic error = constraint.emitError()
                               << spellConstraint(constraint)
                               << " expects dimension " << dim << " as "
                               << spellDim(mine) << ", got " << spellDim(other)
                               << " from " << getOwner(dim)
                               << ": leave one of them out, or write 'barrier' "
                                  "behind the constraint, for which its "
                                  "readers have the value in another layout";
    error.attachNote(value.getLoc()) << "the value that it reads";
    return error;
  }
  return success();
}

LogicalResult ConstraintCheck::check(ShardingConstraintOp constraint) {
  const ShardingAttr sharding = constraint.getSharding();
  const std::string who = spellConstraint(constraint);
  if (sharding.getMesh() != symbol)
    return constraint.emitError() << who << " expects the mesh " << symbol
                                  << ", got " << sharding.getMesh();
  if (failed(checkAsked(constraint.getLoc(), who, sharding.getDims(),
                        constraint.getType(), mesh)))
    return failure();
  if (constraint.getBarrier() &&
      constraint.getSide() == ConstrainedSide::Result)
    return success();
  Value value = constraint.getOperand();
  while (Operation *op = value.getDefiningOp()) {
    auto other = dyn_cast<ShardingConstraintOp>(op);
    if (!other && !isa<ReshardOp>(op))
      return success();
    if (other && other.getSide() == ConstrainedSide::Result &&
        failed(compare(constraint, value, other.getSharding().getDims(),
                       [&](unsigned) { return spellConstraint(other); })))
      return failure();
    if (other && other.getBarrier())
      return success();
    value = op->getOperand(0);
  }
  auto argument = arguments.find(value);
  if (argument == arguments.end())
    return success();
  return compare(constraint, value, argument->second.sharding.getDims(),
                 [&](unsigned dim) { return argument->second.owners[dim]; });
}

LogicalResult ConstraintCheck::run() {
  for (ShardingConstraintOp constraint : constraints)
    if (failed(check(constraint)))
      return failure();
  return success();
}
