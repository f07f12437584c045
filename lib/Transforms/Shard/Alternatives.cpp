//===- Alternatives.cpp - alternatives to a collective --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Alternatives.h"
#include "pp/IR/Values.h"
#include "pp/Planner/InShards.h"

using namespace mlir;
using namespace pp;

std::optional<Alternatives::Price>
Alternatives::priceOf(Value value, const Layout &has,
                      const PartialAxes &partial, const Layout &wants) {
  const reshard::ReshardPlan &plan = resharder.plan(
      {value, has, partial}, ranked(value).getShape(), wants, {});
  if (!plan.reachable())
    return std::nullopt;
  Price price{0, plan.cost};
  for (const reshard::ReshardStep &step : plan.steps)
    price.bytes += step.wireBytes;
  return price;
}

/// All that the op of `use` would send if that operand decided how it computes;
/// nothing if it needs `layout` of it even so.
std::optional<Alternatives::Price>
Alternatives::priceAsItLies(OpOperand &use, const Layout &has,
                            const Layout &layout) {
  auto shardable = dyn_cast<ShardingOpInterface>(use.getOwner());
  if (!shardable || isLayoutChange(shardable))
    return std::nullopt;
  const unsigned index = use.getOperandNumber();
  const ShardingRule rule = shardable.getShardingRule();
  // The result's axes go first, so the operand takes the result's place.
  ShardingRule first = rule;
  first.results.insert(first.results.begin(), rule.operands[index]);
  SmallVector<const Layout *> results{&has}, operands;
  for (Value result : shardable->getResults())
    results.push_back(&layouts(result));
  for (Value operand : shardable->getOperands())
    operands.push_back(&layouts(operand));
  operands[index] = &has;
  const Layout factors = chooseFactorAxes(first, results, operands, mesh);
  if (layoutOf(rule, rule.operands[index], factors, mesh) == layout)
    return std::nullopt;

  Price total;
  auto add = [&](std::optional<Price> price) {
    if (price)
      total = {total.bytes + price->bytes, total.seconds + price->seconds};
    return price.has_value();
  };
  PartialAxes partial;
  for (auto [factor, axes] : llvm::zip_equal(rule.factors, factors))
    if (factor.kind == FactorKind::Reduction)
      for (int axis : axes)
        if (axis != mesh.timeAxis())
          partial.push_back({axis, factor.reduction});
  llvm::sort(partial);
  for (OpOperand &operand : shardable->getOpOperands()) {
    const unsigned number = operand.getOperandNumber();
    const Layout wanted = layoutOf(rule, rule.operands[number], factors, mesh);
    const Layout &there = number == index ? has : layouts(operand.get());
    if (!add(priceOf(operand.get(), there, {}, wanted)))
      return std::nullopt;
  }
  for (auto [number, result] : llvm::enumerate(shardable->getResults()))
    if (!add(priceOf(result,
                     layoutOf(rule, rule.results[number], factors, mesh),
                     partial, layouts(result))))
      return std::nullopt;
  return total;
}

/// The reduction of the result of the op of `use` for a partial operand, if it
/// may have one.
std::optional<Alternatives::Price>
Alternatives::priceBehind(OpOperand &use, const LocalValue &from) {
  auto shardable = dyn_cast<ShardingOpInterface>(use.getOwner());
  if (!shardable || isLayoutChange(shardable) ||
      shardable->getNumResults() != 1)
    return std::nullopt;
  const unsigned index = use.getOperandNumber();
  const ShardingRule rule = shardable.getShardingRule();
  bool passes =
      llvm::any_of(rule.additive, [&](const SmallVector<unsigned, 2> &set) {
        return set.size() == 1 && set.front() == index;
      });
  if (!passes)
    return std::nullopt;
  SmallVector<const Layout *> results, operands;
  for (Value result : shardable->getResults())
    results.push_back(&layouts(result));
  for (Value operand : shardable->getOperands())
    operands.push_back(&layouts(operand));
  Layout factors = chooseFactorAxes(rule, results, operands, mesh);
  for (AxisList &axes : factors)
    llvm::erase_if(axes, [&](int axis) {
      return llvm::is_contained(llvm::make_first_range(from.partial), axis);
    });
  dropUnspeakable(rule, factors, mesh);
  Value result = shardable->getResult(0);
  return priceOf(result, layoutOf(rule, rule.results.front(), factors, mesh),
                 from.partial, layouts(result));
}

/// An op that needs a dimension whole, in the shards of it first.
std::optional<Cause::Alternative> Alternatives::findScan(OpOperand &use,
                                                         const Layout &has,
                                                         const Layout &layout) {
  auto shardable = dyn_cast<ShardingOpInterface>(use.getOwner());
  if (!shardable || shardable->getNumOperands() != 1)
    return std::nullopt;
  for (auto [dim, axes] : llvm::enumerate(has)) {
    if (axes.empty() || !layout[dim].empty())
      continue;
    if (auto costs = measureScan(shardable, dim, mesh.shardsOf(has)))
      return Cause::Alternative{
          "instead " + shardable->getName().getStringRef().str() +
              " in the shards first, then of what these share",
          static_cast<int64_t>(costs->inShards)};
  }
  return std::nullopt;
}

std::vector<Cause::Alternative> Alternatives::find(OpOperand &use,
                                                   const LocalValue &from,
                                                   const Layout &layout) {
  std::vector<Cause::Alternative> found;
  auto add = [&](std::string what, std::optional<Price> price) {
    if (price)
      found.push_back({std::move(what), static_cast<int64_t>(price->bytes),
                       price->seconds});
  };
  Value value = use.get();
  const std::string reader = use.getOwner()->getName().getStringRef().str();
  // An op built in place of another one records that.
  Operation *builtFor =
      from.partial.empty() ? use.getOwner() : value.getDefiningOp();
  if (auto other = findAlternative(builtFor->getLoc()))
    return {*other};
  if (!from.partial.empty()) {
    const double uses = llvm::range_size(value.getUses());
    std::optional<Price> each =
        uses > 1 ? priceOf(value, from.layout, from.partial, layout)
                 : std::nullopt;
    if (each)
      add("instead reduced at each of " + std::to_string(int64_t(uses)) +
              " uses",
          Price{uses * each->bytes, uses * each->seconds});
    else if (std::optional<Price> behind = priceBehind(use, from))
      add("instead reduced behind " + reader, behind);
    else if (isa<ShardingOpInterface>(use.getOwner()) &&
             !isLayoutChange(use.getOwner()))
      found.push_back(
          {"not reduced behind " + reader +
           ", which needs this operand whole, since the others are whole"});
    return found;
  }
  add("instead " + reader + " in this operand's sharding, its result resharded",
      priceAsItLies(use, from.layout, layout));
  if (auto scan = findScan(use, from.layout, layout))
    found.push_back(*scan);
  // An axis that goes to another dimension need not be gathered.
  auto splitsElsewhere = [&](int axis) {
    for (auto [has, wants] : llvm::zip_equal(from.layout, layout))
      if (llvm::is_contained(has, axis) && !llvm::is_contained(wants, axis))
        return llvm::any_of(layout, [&](const AxisList &axes) {
          return llvm::is_contained(axes, axis);
        });
    return false;
  };
  if (llvm::any_of(llvm::seq(mesh.numAxes()), splitsElsewhere)) {
    Layout gathered = from.layout;
    for (AxisList &axes : gathered)
      llvm::erase_if(axes, splitsElsewhere);
    add("instead gathered, then cut",
        priceOf(value, from.layout, {}, gathered));
  }
  return found;
}

std::string Alternatives::advise(OpOperand &use, const LocalValue &from,
                                 const Layout &layout) {
  Value value = use.get();
  if (isLayoutChange(use.getOwner()))
    return "";
  auto countShards = [&](const Layout &ofValue) {
    int64_t shards = 1;
    for (const AxisList &axes : ofValue)
      shards *= mesh.size(axes);
    return shards;
  };
  if (isa<BlockArgument>(value) && value.hasOneUse() &&
      countShards(layout) < countShards(from.layout))
    return "gathered for one use; avoided by a seed that leaves it whole, or "
           "that splits the other operands alike";
  if (countShards(from.layout) == 1 || countShards(layout) == 1)
    return "";
  const reshard::ReshardPlan &plan =
      resharder.plan(from, ranked(value).getShape(), layout, {});
  auto isWhole = [](const reshard::ReshardStep &step) {
    return llvm::all_of(step.result.dims, [](const std::vector<int> &axes) {
      return axes.empty();
    });
  };
  if (llvm::any_of(plan.steps, isWhole))
    return "whole on its way from one split layout to another; avoided by "
           "seeds that agree on the value";
  return "";
}
