//===- ShardingTable.cpp - shardings and partial axes of values -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Transforms/Shard/ShardingTable.h"
#include "pp/Analysis/Factors.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;

FailureOr<ShardingTable> ShardingTable::of(ModuleOp module) {
  FailureOr<ShardedMain> sharded = ShardedMain::of(module);
  if (failed(sharded))
    return failure();
  ShardingTable table;
  table.main = sharded->main;
  table.mesh = sharded->mesh.attr();
  table.symbol = sharded->mesh.symbol();
  table.plan = module->getAttrOfType<PlanAttr>(attrs::kPlan);
  return table;
}

ShardingAttr ShardingTable::lookup(Value value) const {
  const MeshView view(mesh, symbol, plan);
  const Layout layout = getLayout(value, view);
  ShardingAttr whole = view.toSharding(layout);
  auto shardable = dyn_cast_or_null<ShardingOpInterface>(value.getDefiningOp());
  if (!shardable)
    return whole;
  const ShardingRule rule = shardable.getShardingRule();
  const Layout factors = chooseLocalAxes(shardable, rule, view);
  SmallVector<PartialAxisAttr> partial;
  for (auto [factor, axes] : llvm::zip_equal(rule.factors, factors))
    if (factor.kind == FactorKind::Reduction)
      for (int axis : axes)
        partial.push_back(PartialAxisAttr::get(
            value.getContext(), view.name(axis), factor.reduction));
  return ShardingAttr::get(value.getContext(), whole.getMesh(), whole.getDims(),
                           partial);
}
