//===- AnnotateShardings.cpp - the plan's seeds onto the arguments --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: level 1 with a plan. Out: `pp.sharding` on the arguments that the plan's
// seeds name, a constraint in place of every `pp.name` that they name. A plan
// without seeds gets them first (pp/Planner): inputs split their first
// dimension over micro-batches and data parallelism, tensor parallelism splits
// the parameters that introduce a dimension which is never reduced but against
// another parameter. Everything else is derived.
//
//===----------------------------------------------------------------------===//
#include "ParameterLayouts.h"
#include "mlir/IR/Builders.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Model.h"
#include "pp/Planner/FindSeeds.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Sources.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_ANNOTATESHARDINGS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// The sharding of one argument or named value, merged from all seeds that
/// match its name. Reports at `at`.
class SeededSharding {
public:
  SeededSharding(Operation *at, StringRef what, StringRef name, Type type,
                 MeshAttr mesh)
      : at(at), what(what), name(name), type(cast<RankedTensorType>(type)),
        mesh(mesh), dims(this->type.getRank(),
                         DimShardingAttr::get(at->getContext(), {}, true)) {}

  LogicalResult add(SeedAttr seed);

  /// The seeds that matched.
  ArrayRef<SeedAttr> getSeeds() const { return seeds; }
  /// What all of them say.
  ShardingAttr getMerged(FlatSymbolRefAttr symbol) const {
    return ShardingAttr::get(at->getContext(), symbol, dims, {});
  }
  /// What `seed` says of it: the axes that it brings; whole is what no seed
  /// splits.
  ShardingAttr getOf(SeedAttr seed, FlatSymbolRefAttr symbol) const;

private:
  InFlightDiagnostic fail(SeedAttr seed) {
    return at->emitError() << what << " \"" << name << "\": seed " << seed
                           << " expects ";
  }
  LogicalResult check(SeedAttr seed, size_t dim, DimShardingAttr wanted,
                      size_t known);

  Operation *at;
  StringRef what, name;
  RankedTensorType type;
  MeshAttr mesh;
  SmallVector<DimShardingAttr> dims;
  llvm::SmallDenseSet<StringAttr> used;
  SmallVector<SeedAttr, 2> seeds;
};

LogicalResult SeededSharding::add(SeedAttr seed) {
  if (static_cast<int64_t>(seed.getDims().size()) != type.getRank())
    return fail(seed) << type.getRank() << " dimensions of " << type << ", got "
                      << seed.getDims().size();
  if (!seeds.empty() && (seeds.front().getIsClosed() || seed.getIsClosed()))
    return fail(seed) << "a closed sharding to be the only one, got "
                      << seeds.front() << " beside it: leave one of them out";
  for (auto [dim, wanted] : llvm::enumerate(seed.getDims())) {
    DimShardingAttr &mine = dims[dim];
    if (wanted.getAxes().empty()) {
      if (mine.getAxes().empty() && !wanted.getIsOpen())
        mine = wanted;
      continue;
    }
    // One may go on where another ends.
    auto extends = [](DimShardingAttr more, DimShardingAttr less) {
      return more.getAxes().take_front(less.getAxes().size()) == less.getAxes();
    };
    if (extends(mine, wanted))
      continue;
    if (!extends(wanted, mine))
      return fail(seed) << "dimension " << dim << " to be sharded once, got "
                        << mine << " and " << wanted;
    if (failed(check(seed, dim, wanted, mine.getAxes().size())))
      return failure();
    mine = wanted;
  }
  seeds.push_back(seed);
  return success();
}

ShardingAttr SeededSharding::getOf(SeedAttr seed,
                                   FlatSymbolRefAttr symbol) const {
  SmallVector<DimShardingAttr> own(seed.getDims());
  for (auto [mine, merged] : llvm::zip_equal(own, dims))
    if (mine.getAxes().empty() && !merged.getAxes().empty())
      mine = DimShardingAttr::get(at->getContext(), {}, /*isOpen=*/true);
  return ShardingAttr::get(at->getContext(), symbol, own, {});
}

/// The first `known` axes are those of another seed.
LogicalResult SeededSharding::check(SeedAttr seed, size_t dim,
                                    DimShardingAttr wanted, size_t known) {
  for (StringAttr axis : wanted.getAxes().drop_front(known)) {
    MeshAxisAttr attr = mesh.lookup(axis);
    if (!attr)
      return fail(seed) << "axes of " << mesh << ", got " << axis;
    if (attr.getKind() == AxisKind::Stage)
      return fail(seed) << "axes that split tensors, got " << attr
                        << ", over which ops are split; leave it out";
    if (!used.insert(axis).second)
      return fail(seed) << "to use every axis once, got " << axis
                        << " a second time";
  }
  int64_t shards = mesh.sizeOf(wanted.getAxes());
  if (shards <= type.getDimSize(dim))
    return success();
  InFlightDiagnostic error =
      fail(seed) << "at least " << shards << " elements in dimension " << dim
                 << " of " << type << ", one per shard over ";
  llvm::interleaveComma(wanted.getAxes(), error);
  return error << ", got " << type.getDimSize(dim);
}

/// Puts the plan's seeds where their names are.
class SeedPlacement {
public:
  SeedPlacement(func::FuncOp main, PlanAttr plan, FlatSymbolRefAttr mesh)
      : main(main), plan(plan), mesh(mesh), table(plan),
        isUsed(plan.getSeeds().size()) {}

  LogicalResult run() {
    return success(succeeded(placeOnArguments()) &&
                   succeeded(placeOnValues()) && succeeded(checkUsed()));
  }

private:
  LogicalResult placeOnArguments();
  LogicalResult placeOnValues();
  LogicalResult checkUsed();
  LogicalResult collect(StringRef name, SeededSharding &sharding);

  func::FuncOp main;
  PlanAttr plan;
  FlatSymbolRefAttr mesh;
  SeedTable table;
  llvm::BitVector isUsed;
  llvm::SetVector<StringAttr> names; ///< of values
};

LogicalResult SeedPlacement::collect(StringRef name, SeededSharding &sharding) {
  for (unsigned number : table.lookup(name)) {
    isUsed.set(number);
    if (failed(sharding.add(plan.getSeeds()[number])))
      return failure();
  }
  return success();
}

LogicalResult SeedPlacement::placeOnArguments() {
  SmallVector<Attribute> shardings;
  for (unsigned index = 0; index < main.getNumArguments(); ++index) {
    StringRef name = getArgName(main, index);
    if (Attribute given = main.getArgAttr(index, attrs::kSharding))
      return main.emitError("argument \"")
             << name << "\" expects its sharding from a seed of the plan, got "
             << given;
    SeededSharding sharding(main, "argument", name,
                            main.getArgumentTypes()[index], plan.getMesh());
    if (failed(collect(name, sharding)))
      return failure();
    ArrayRef<SeedAttr> seeds = sharding.getSeeds();
    if (!seeds.empty() && seeds.front().getIsClosed())
      return main.emitError("argument \"")
             << name << "\": seed " << seeds.front()
             << " expects a value that the model computes, for 'closed' tells "
                "its readers from what it is made of; leave 'closed' out";
    shardings.push_back(seeds.empty() ? Attribute() : sharding.getMerged(mesh));
  }
  setArgAttrs(main, attrs::kSharding, shardings);
  return success();
}

/// A named value, or its gradient, that no seed names is nothing of its own.
LogicalResult SeedPlacement::placeOnValues() {
  for (auto op : llvm::make_early_inc_range(main.getOps<NameOp>())) {
    names.insert(op.getNameAttr());
    SeededSharding sharding(op, "value", op.getName(), op.getType(),
                            plan.getMesh());
    if (failed(collect(op.getName(), sharding)))
      return failure();
    Value value = op.getOperand();
    // Each has its own priority.
    for (SeedAttr seed : sharding.getSeeds()) {
      OpBuilder builder(op);
      bool isBefore = seed.getIsClosed() && op.getGradient();
      auto constraint = ShardingConstraintOp::create(
          builder, attachRoot(op.getLoc(), spellSeed(seed)), op.getType(),
          value, isBefore ? ConstrainedSide::Operand : ConstrainedSide::Result,
          sharding.getOf(seed, mesh), seed.getIsClosed(),
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

/// How `zero` may share out a parameter: over the axes of the mesh that no seed
/// gives to it, along dimensions that none keeps whole.
SharedOut findSharedOut(PlanAttr plan, const SeedTable &table,
                        StringRef parameter) {
  llvm::StringSet<> seeded;
  std::map<int64_t, bool> isWhole;
  for (unsigned number : table.lookup(parameter))
    for (auto [dim, sharding] :
         llvm::enumerate(plan.getSeeds()[number].getDims())) {
      for (StringAttr axis : sharding.getAxes())
        seeded.insert(axis);
      if (!sharding.getAxes().empty())
        isWhole[dim] = false;
      else if (!sharding.getIsOpen())
        isWhole.try_emplace(dim, true);
    }
  SharedOut shared;
  for (PlanKey key : getInfo(PlanKey::Zero).getNeeded())
    if (StringRef axis = getInfo(key).axis;
        plan.getMesh().lookup(axis) && !seeded.contains(axis))
      shared.axes.push_back(axis);
  for (auto [dim, is] : isWhole)
    if (is)
      shared.whole.push_back(dim);
  return shared;
}

struct AnnotateShardingsPass
    : pp::impl::AnnotateShardingsBase<AnnotateShardingsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = lookupMain(module);
    auto plan = lookupPlan(module);
    if (failed(main) || failed(plan))
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
    if (plan->getSeeds().empty()) {
      FailureOr<SmallVector<SeedAttr>> seeds = findSeeds(*main, *plan);
      if (failed(seeds))
        return signalPassFailure();
      *plan = plan->withSeeds(*seeds);
      module->setAttr(attrs::kPlan, *plan);
    }
    int64_t zero = plan->getInt(PlanKey::Zero);
    bool gathersOnce = plan->getWord(PlanKey::ZeroGather) == "step";
    // Seeds are checked before what they say is obeyed.
    if (failed(SeedPlacement(*main, *plan,
                             FlatSymbolRefAttr::get(mesh.getSymNameAttr()))
                   .run()))
      return signalPassFailure();
    auto getSharedOut = [&, table = SeedTable(*plan)](BlockArgument parameter) {
      return findSharedOut(*plan, table,
                           getArgName(*main, parameter.getArgNumber()));
    };
    if (failed(writeParameterLayouts(*main, zero, gathersOnce, getSharedOut)))
      signalPassFailure();
  }
};

} // namespace
