//===- AnnotateShardings.cpp - the plan's seeds onto the arguments --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: level 1 with a plan, possibly with shardings and constraints of the
// model. Out: `pp.sharding` on the arguments that these or the plan's seeds
// name, a constraint in place of every `pp.name` that seeds name. A plan
// without seeds gets them first (pp/Planner), for what the model leaves open:
// inputs split their batch over micro-batches and data parallelism, tensor
// parallelism splits the parameters with a dimension that is only reduced
// against another parameter. Everything else is derived.
//
//===----------------------------------------------------------------------===//
#include "ConstraintCheck.h"
#include "ParameterLayouts.h"
#include "SeededSharding.h"
#include "mlir/IR/Builders.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Planner/FindSeeds.h"
#include "pp/Planner/InShards.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Shard/DivideAxes.h"
#include "pp/Transforms/Sources.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_ANNOTATESHARDINGS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// Puts the plan's seeds where their names are.
class SeedPlacement {
public:
  SeedPlacement(func::FuncOp main, PlanAttr plan, FlatSymbolRefAttr mesh)
      : main(main), plan(plan), mesh(mesh), table(plan),
        isUsed(plan.getSeeds().size()) {
    for (auto [index, argument] : llvm::enumerate(getUpdatedArguments(main)))
      if (argument && main.getResultAttr(index, attrs::kSharding))
        updates[argument] = index;
  }

  LogicalResult run() {
    ConstraintCheck constraints(main, plan.getMesh(), mesh);
    return success(succeeded(placeOnArguments(constraints)) &&
                   succeeded(checkResults()) && succeeded(placeOnValues()) &&
                   succeeded(checkUsed()) && succeeded(constraints.run()));
  }

private:
  LogicalResult placeOnArguments(ConstraintCheck &constraints);
  LogicalResult checkResults();
  LogicalResult placeOnValues();
  LogicalResult checkUsed();
  LogicalResult collect(StringRef name, SeededSharding &sharding);
  LogicalResult collectGiven(BlockArgument argument, SeededSharding &sharding);

  func::FuncOp main;
  PlanAttr plan;
  FlatSymbolRefAttr mesh;
  SeedTable table;
  llvm::BitVector isUsed;
  llvm::SetVector<StringAttr> names; ///< of values
  /// By argument, its new value if that has a sharding of the model's own.
  llvm::DenseMap<Value, unsigned> updates;
};

LogicalResult SeedPlacement::collect(StringRef name, SeededSharding &sharding) {
  for (const MatchedSeed &match : table.lookup(name)) {
    isUsed.set(match.number);
    if (!match.isOverruled && failed(sharding.addSeed(match)))
      return failure();
  }
  return sharding.merge();
}

/// Collects the model's shardings of an argument, and of the result that is its
/// new value: both have the same layout.
LogicalResult SeedPlacement::collectGiven(BlockArgument argument,
                                          SeededSharding &sharding) {
  const unsigned index = argument.getArgNumber();
  std::string root;
  auto add = [&](ShardingAttr given, StringRef where) {
    if (given && root.empty())
      root = spellGiven(given, where);
    return !given || succeeded(sharding.addGiven(given, where, mesh));
  };
  StringRef name = getArgName(main, index);
  if (!add(main.getArgAttrOfType<ShardingAttr>(index, attrs::kSharding),
           "argument \"" + name.str() + "\""))
    return failure();
  auto result = updates.find(argument);
  if (result != updates.end()) {
    if (!add(main.getResultAttrOfType<ShardingAttr>(result->second,
                                                    attrs::kSharding),
             "result \"" + name.str() + "\""))
      return failure();
    main.removeResultAttr(result->second,
                          StringAttr::get(main.getContext(), attrs::kSharding));
  }
  if (!root.empty())
    argument.setLoc(attachRoot(argument.getLoc(), root));
  return success();
}

LogicalResult SeedPlacement::placeOnArguments(ConstraintCheck &constraints) {
  SmallVector<Attribute> shardings;
  for (unsigned index = 0; index < main.getNumArguments(); ++index) {
    StringRef name = getArgName(main, index);
    BlockArgument argument = main.getArgument(index);
    SeededSharding sharding(
        argument.getLoc(), ("argument \"" + name + "\"").str(),
        argument.getType(), plan.getMesh(),
        /*mayRepeat=*/getArgRole(main, argument.getArgNumber()) == Role::Param);
    if (failed(collectGiven(argument, sharding)) ||
        failed(collect(name, sharding)))
      return failure();
    if (sharding.isAsked())
      constraints.enter(argument, sharding);
    ArrayRef<MatchedSeed> seeds = sharding.getSeeds();
    if (!seeds.empty() && seeds.front().seed.getIsBarrier())
      return main.emitError("argument \"")
             << name << "\": seed " << seeds.front().seed
             << " expects a value that the model computes: 'barrier' separates "
                "a value's readers from its producer; leave 'barrier' out";
    shardings.push_back(sharding.isAsked() ? sharding.getMerged(mesh)
                                           : Attribute());
  }
  setArgAttrs(main, attrs::kSharding, shardings);
  return success();
}

/// A result is one value a step, whatever micro-batches it comes from.
LogicalResult SeedPlacement::checkResults() {
  for (unsigned index = 0; index < main.getNumResults(); ++index) {
    auto given =
        main.getResultAttrOfType<ShardingAttr>(index, attrs::kSharding);
    if (!given)
      continue;
    const std::string what =
        "result \"" + getResultName(main, index).str() + "\"";
    SeededSharding sharding(main.getLoc(), what, main.getResultTypes()[index],
                            plan.getMesh());
    if (failed(sharding.addGiven(given, what, mesh)))
      return failure();
    for (auto [dim, axes] : llvm::enumerate(given.getDims()))
      for (StringAttr axis : axes.getAxes())
        if (MeshAxisAttr attr = plan.getMesh().lookup(axis);
            attr.getKind() == AxisKind::Time)
          return main.emitError()
                 << what << ": " << spellGiven(given, what)
                 << " expects axes that split results in dimension " << dim
                 << ", got " << attr
                 << ", whose micro-batches become one value; leave it out";
  }
  return success();
}

/// A named value, or its gradient, that no seed names is nothing of its own.
LogicalResult SeedPlacement::placeOnValues() {
  for (auto op : llvm::make_early_inc_range(main.getOps<NameOp>())) {
    names.insert(op.getNameAttr());
    SeededSharding sharding(op.getLoc(),
                            ("value \"" + op.getName() + "\"").str(),
                            op.getType(), plan.getMesh());
    if (failed(collect(op.getName(), sharding)))
      return failure();
    Value value = op.getOperand();
    // Each has its own priority.
    for (const MatchedSeed &match : sharding.getSeeds()) {
      SeedAttr seed = match.seed;
      OpBuilder builder(op);
      bool isBefore = seed.getIsBarrier() && op.getGradient();
      auto constraint = ShardingConstraintOp::create(
          builder, attachRoot(op.getLoc(), spellSeed(seed)), op.getType(),
          value, isBefore ? ConstrainedSide::Operand : ConstrainedSide::Result,
          sharding.getOf(match, mesh), seed.getIsBarrier(),
          builder.getI64IntegerAttr(seed.getPriority()));
      constraint->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      value = constraint;
    }
    op.replaceAllUsesWith(value);
    op.erase();
  }
  return success();
}

LogicalResult SeedPlacement::checkUsed() {
  for (unsigned number : isUsed.flip().set_bits()) {
    SeedAttr seed = plan.getSeeds()[number];
    std::string near;
    unsigned least = std::numeric_limits<unsigned>::max();
    auto compare = [&](StringRef name) {
      unsigned distance = name.edit_distance(seed.getPattern().getValue());
      if (distance < least)
        near = name.str();
      least = std::min(least, distance);
    };
    for (unsigned index = 0; index < main.getNumArguments(); ++index)
      compare(getArgName(main, index));
    for (StringAttr name : names)
      compare(name);
    InFlightDiagnostic error =
        main.emitError("expects every seed to name an argument or a value of "
                       "the model, got ")
        << seed;
    if (!near.empty())
      error << "; the nearest name is \"" << near << "\"";
    return error;
  }
  return success();
}

/// How `zero` may shard a parameter with `sharding` (if any): over the other
/// axes of the mesh, along dimensions that need not stay whole.
SharedOut findSharedOut(PlanAttr plan, ShardingAttr sharding) {
  llvm::StringSet<> taken;
  SharedOut shared;
  if (sharding)
    for (auto [dim, axes] : llvm::enumerate(sharding.getDims())) {
      for (StringAttr axis : axes.getAxes())
        taken.insert(axis);
      if (axes.getAxes().empty() && !axes.getIsOpen())
        shared.whole.push_back(dim);
    }
  for (PlanKey key : getInfo(PlanKey::Zero).getNeeded())
    for (StringAttr axis : plan.getMesh().partsOf(getInfo(key).axis))
      if (!taken.contains(axis))
        shared.axes.push_back(axis);
  return shared;
}

struct AnnotateShardingsPass
    : pp::impl::AnnotateShardingsBase<AnnotateShardingsPass> {
  void runOnModule() override {
    ModuleOp module = getOperation();
    auto main = lookupMain(module);
    auto plan = lookupPlan(module);
    if (failed(main) || failed(plan) || failed(chooseShardSums(*main)))
      return signalPassFailure();
    MeshOp mesh = lookupMesh(module);
    if (!mesh) {
      OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
      mesh = MeshOp::create(builder, module.getLoc(), "mesh", plan->getMesh());
    }
    if (mesh.getMesh() != plan->getMesh()) {
      mesh.emitError("expects the plan's mesh ")
          << plan->getMesh() << ", got " << mesh.getMesh();
      return signalPassFailure();
    }
    plan = withSeeds(*main, *plan);
    if (failed(plan))
      return signalPassFailure();
    setPlan(module, *plan);
    plan = lookupPlan(module);
    int64_t zero = plan->getInt(PlanKey::Zero);
    bool gathersOnce = plan->getWord(PlanKey::ZeroGather) == "step";
    // Requests are checked before they are obeyed.
    if (failed(SeedPlacement(*main, *plan,
                             FlatSymbolRefAttr::get(mesh.getSymNameAttr()))
                   .run()))
      return signalPassFailure();
    auto getSharedOut = [&](BlockArgument parameter) {
      return findSharedOut(
          *plan, main->getArgAttrOfType<ShardingAttr>(parameter.getArgNumber(),
                                                      attrs::kSharding));
    };
    if (failed(writeParameterLayouts(*main, zero, gathersOnce, getSharedOut)))
      signalPassFailure();
  }
};

} // namespace
