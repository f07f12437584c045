//===- CauseFinder.cpp - what is known of a collective's cause ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// An axis splits dimensions that share a factor: so a seed that put it on one
// of them is where the others have it from. A partial value has it from a
// factor that its op, or one whose sum passed through it, reduced.
//
//===----------------------------------------------------------------------===//
#include "CauseFinder.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/Transforms/CollectiveRemarks.h"

using namespace mlir;
using namespace pp;

CauseFinder::CauseFinder(func::FuncOp main, MeshView mesh, PlanAttr plan)
    : main(main), mesh(mesh), plan(plan) {
  for (Operation &op : main.getBody().front().without_terminator())
    if (auto shardable = dyn_cast<ShardingOpInterface>(op))
      classes.addOp(&op, shardable.getShardingRule());
  for (BlockArgument argument : main.getArguments())
    classes.addValue(argument);
  if (plan)
    enterSeeds();
}

void CauseFinder::enterSeeds() {
  auto enter = [&](Value value, unsigned number) {
    SeedAttr seed = plan.getSeeds()[number];
    for (auto [dim, ofDim] : llvm::enumerate(seed.getDims()))
      for (StringAttr axis : ofDim.getAxes())
        for (Class ofValue : classes.classesOf(value, dim))
          seedings[ofValue].push_back({axis, number});
  };
  const SeedTable table(plan);
  for (BlockArgument argument : main.getArguments())
    for (unsigned seed :
         table.lookup(getArgName(main, argument.getArgNumber())))
      enter(argument, seed);
}

void CauseFinder::appendSeeds(ArrayRef<Class> ofClasses, StringAttr axis,
                              llvm::SetVector<unsigned> &found) const {
  for (Class number : ofClasses)
    for (const Seeding &seeding : seedings.lookup(number))
      if (seeding.axis == axis)
        found.insert(seeding.seed);
}

/// Adds the seeds behind what is summed over `axis` in `value`.
void CauseFinder::appendReduced(Value value, StringAttr axis,
                                llvm::SetVector<unsigned> &found) const {
  const size_t before = found.size();
  // Sums pass through few ops before they are reduced.
  for (unsigned depth = 0; depth < 8; ++depth) {
    auto shardable =
        dyn_cast_or_null<ShardingOpInterface>(value.getDefiningOp());
    if (!shardable)
      return;
    ShardingRule rule = shardable.getShardingRule();
    for (auto [number, factor] : llvm::enumerate(rule.factors))
      if (factor.kind == FactorKind::Reduction)
        appendSeeds(classes.classesOf(shardable, number), axis, found);
    if (found.size() != before || rule.additive.empty())
      return;
    value = shardable->getOperand(rule.additive.front().front());
  }
}

std::vector<std::string> CauseFinder::findOrigins(OpOperand &use,
                                                  const LocalValue &from,
                                                  const Layout &layout) const {
  std::vector<std::string> origins;
  if (!plan)
    return origins;
  llvm::SetVector<unsigned> found;
  Value value = use.get();
  for (Operation *change : {use.getOwner(), value.getDefiningOp()}) {
    auto constraint = dyn_cast_or_null<ShardingConstraintOp>(change);
    if (!constraint || !constraint.getClosed())
      continue;
    for (auto [number, seed] : llvm::enumerate(plan.getSeeds()))
      if (seed.getIsClosed() &&
          seed.getDims() == constraint.getSharding().getDims())
        found.insert(number);
  }
  for (auto [axis, reduction] : from.partial)
    appendReduced(value, mesh.name(axis), found);
  // What only one of the two layouts has.
  if (found.empty())
    for (auto [dim, has, wants] : llvm::enumerate(from.layout, layout))
      for (int axis = 0; axis < mesh.numAxes(); ++axis)
        if (llvm::is_contained(has, axis) != llvm::is_contained(wants, axis))
          appendSeeds(classes.classesOf(value, dim), mesh.name(axis), found);
  for (unsigned number : found) {
    SeedAttr seed = plan.getSeeds()[number];
    origins.push_back("seed \"" + seed.getPattern().str() + "\" " +
                      spellDims(seed.getDims()));
  }
  return origins;
}

Cause CauseFinder::find(OpOperand &use, const LocalValue &from,
                        const Layout &layout) {
  Cause cause;
  Operation *reader = use.getOwner();
  Value value = use.get();
  unsigned index = use.getOperandNumber();
  if (isa<func::ReturnOp>(reader)) {
    cause.user = "result \"" + getResultName(main, index).str() + "\" of @main";
  } else {
    cause.user = "operand " + std::to_string(index) + " of " +
                 reader->getName().getStringRef().str();
    cause.userAt = describeLocation(reader->getLoc());
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    cause.maker =
        "argument \"" + getArgName(main, argument.getArgNumber()).str() + "\"";
  else
    cause.maker = value.getDefiningOp()->getName().getStringRef().str();
  cause.text = cause.user + " wants " + mesh.spell(layout);
  if (!from.partial.empty())
    if (StringRef name = findParameterOfGradient(value); !name.empty()) {
      cause.gradientOf = name.str();
      cause.text = "gradient of \"" + cause.gradientOf + "\": " + cause.text;
    }
  cause.wants = mesh.toSharding(layout);
  SmallVector<PartialAxisAttr> partial;
  for (auto [axis, reduction] : from.partial)
    partial.push_back(
        PartialAxisAttr::get(main.getContext(), mesh.name(axis), reduction));
  ShardingAttr whole = mesh.toSharding(from.layout);
  cause.has = ShardingAttr::get(main.getContext(), whole.getMesh(),
                                whole.getDims(), partial);
  if (auto reshard = dyn_cast<ReshardOp>(reader); reshard && plan) {
    cause.layouts = "zero = " + std::to_string(plan.getInt(PlanKey::Zero));
    auto parameter = reader->getAttrOfType<StringAttr>(attrs::kParameter);
    if (parameter && !from.partial.empty())
      cause.gradientOf = parameter.str();
  }
  if (cause.layouts.empty() || !from.partial.empty())
    cause.origins = findOrigins(use, from, layout);
  return cause;
}
