//===- RandomShardings.cpp - a mesh and shardings to start from -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "RandomShardings.h"
#include "../../Random/RandomSeeds.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Model.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Shard/MakePlan.h"
#include <random>

using namespace mlir;
using namespace pp;
using namespace pp::testing;

namespace {

class Sharder {
public:
  Sharder(ModuleOp module, unsigned seed, const RandomShardingOptions &options)
      : module(module), main(module.lookupSymbol<func::FuncOp>("main")),
        options(options), builder(module.getContext()), random(seed) {}

  /// Everything, for a graph that says nothing yet.
  void run();
  /// A training step under a plan; the model has a batch.
  LogicalResult makeStep();

private:
  int64_t below(int64_t limit) { return random() % limit; }
  bool chance(int64_t percent) { return below(100) < percent; }
  MeshAttr drawMesh();
  /// Time splits what `hasExamples` first, and nothing else.
  ShardingAttr drawSharding(RankedTensorType type, bool hasExamples);
  bool hasExamples(Value value) const { return ofInputs.contains(value); }
  void findExamples();
  MeshAttr withUsedAxes();
  void addConstraints(int64_t percent);
  DenseI64ArrayAttr drawWhole(Value value);
  void addReshard(Value value);
  void addResultShardings();

  ModuleOp module;
  func::FuncOp main;
  RandomShardingOptions options;
  OpBuilder builder;
  std::mt19937 random;
  MeshAttr mesh;
  FlatSymbolRefAttr symbol;
  llvm::DenseSet<StringAttr> used;
  /// Inputs, and what is computed from them with the same first dimension.
  llvm::DenseSet<Value> ofInputs;
};

MeshAttr Sharder::drawMesh() {
  SmallVector<MeshAxisAttr> axes;
  int64_t devices = 1;
  auto add = [&](StringRef name, int64_t size, AxisKind kind) {
    axes.push_back(MeshAxisAttr::get(builder.getContext(),
                                     builder.getStringAttr(name), size, kind));
  };
  if (options.hasTime)
    add("t", 2 + below(2), AxisKind::Time);
  for (StringRef name : {"a", "b", "c"}) {
    const int64_t sizes[] = {2, 2, 2, 3, 4, 6};
    int64_t size = sizes[below(6)];
    if (devices * size > 12)
      continue;
    devices *= size;
    add(name, size, AxisKind::Space);
    if (chance(40))
      break;
  }
  return MeshAttr::get(builder.getContext(), axes);
}

ShardingAttr Sharder::drawSharding(RankedTensorType type, bool hasExamples) {
  SmallVector<SmallVector<StringAttr>> dims(type.getRank());
  SmallVector<int64_t> shards(type.getRank(), 1);
  SmallVector<MeshAxisAttr> axes(mesh.getAxes());
  std::shuffle(axes.begin(), axes.end(), random);
  if (chance(90)) // one micro-batch has the same elements everywhere
    llvm::stable_sort(axes, [](MeshAxisAttr a, MeshAxisAttr b) {
      return (a.getKind() == AxisKind::Time) > (b.getKind() == AxisKind::Time);
    });
  for (MeshAxisAttr axis : axes) {
    const bool isTime = axis.getKind() == AxisKind::Time;
    if (type.getRank() == 0 || (isTime ? !hasExamples : chance(40)))
      continue;
    int64_t dim = isTime ? 0 : below(type.getRank());
    // An axis may have more parts than there are elements, which then lie on
    // several devices.
    const int64_t left = type.getDimSize(dim) / shards[dim];
    const bool isTwice = left > 1 && axis.getSize() % left == 0 &&
                         type.getDimSize(dim) % shards[dim] == 0;
    if (axis.getSize() > left && (isTime || !isTwice || chance(70)))
      continue;
    shards[dim] *= axis.getSize();
    dims[dim].push_back(axis.getName());
    used.insert(axis.getName());
  }
  return ShardingAttr::fromAxes(symbol, dims, /*open=*/chance(70));
}

void Sharder::findExamples() {
  int64_t batch = 0;
  auto firstSize = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getRank() == 0 ? 0 : type.getDimSize(0);
  };
  for (BlockArgument argument : main.getArguments())
    if (getArgRole(main, argument.getArgNumber()) == Role::Input) {
      batch = firstSize(argument);
      ofInputs.insert(argument);
    }
  for (Operation &op : main.getBody().front().without_terminator())
    if (firstSize(op.getResult(0)) == batch &&
        llvm::any_of(op.getOperands(),
                     [&](Value operand) { return hasExamples(operand); }))
      ofInputs.insert(op.getResult(0));
}

/// An axis that splits nothing is an error.
MeshAttr Sharder::withUsedAxes() {
  SmallVector<MeshAxisAttr> axes;
  for (MeshAxisAttr axis : mesh.getAxes())
    if (used.contains(axis.getName()))
      axes.push_back(axis);
  return MeshAttr::get(builder.getContext(), axes);
}

/// Dimensions that a reshard is not to split, if any.
DenseI64ArrayAttr Sharder::drawWhole(Value value) {
  SmallVector<int64_t> dims;
  for (int64_t dim :
       llvm::seq(cast<RankedTensorType>(value.getType()).getRank()))
    if (chance(20))
      dims.push_back(dim);
  return dims.empty() ? DenseI64ArrayAttr()
                      : builder.getDenseI64ArrayAttr(dims);
}

/// Some users of `value` read it in another layout.
void Sharder::addReshard(Value value) {
  SmallVector<Attribute> axes;
  for (MeshAxisAttr axis : mesh.getAxes())
    if (axis.getKind() == AxisKind::Space && chance(60))
      axes.push_back(axis.getName());
  if (axes.empty())
    return;
  llvm::shuffle(axes.begin(), axes.end(), random);
  const bool isWith = chance(50);
  builder.setInsertionPointAfterValue(value);
  auto reshard = ReshardOp::create(
      builder, value.getLoc(), value.getType(), value,
      isWith ? LayoutChange::With : LayoutChange::Without,
      builder.getArrayAttr(axes), drawWhole(value), isWith && chance(30));
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    if (use.getOwner() != reshard && chance(70))
      uses.push_back(&use);
  for (OpOperand *use : uses)
    use->set(reshard);
}

void Sharder::addConstraints(int64_t percent) {
  SmallVector<Operation *> ops;
  for (Operation &op : main.getBody().front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops) {
    if (!chance(percent))
      continue;
    Value value = op->getResult(0);
    builder.setInsertionPointAfter(op);
    bool isBarrier = chance(40);
    auto constraint = ShardingConstraintOp::create(
        builder, op->getLoc(), value.getType(), value,
        isBarrier && chance(30) ? ConstrainedSide::Operand
                                : ConstrainedSide::Result,
        drawSharding(cast<RankedTensorType>(value.getType()),
                     hasExamples(value)),
        isBarrier, /*priority=*/IntegerAttr());
    for (StringRef mark : {attrs::kKind, attrs::kOrigin, attrs::kParameter})
      if (Attribute attribute = op->getAttr(mark))
        constraint->setAttr(mark, attribute);
    value.replaceAllUsesExcept(constraint, constraint);
    if (hasExamples(value))
      ofInputs.insert(constraint);
  }
}

void Sharder::addResultShardings() {
  const SmallVector<BlockArgument> updated = getUpdatedArguments(main);
  for (auto [index, type] : llvm::enumerate(main.getResultTypes())) {
    if (!chance(40))
      continue;
    ShardingAttr drawn =
        drawSharding(cast<RankedTensorType>(type), /*hasExamples=*/false);
    // It would contradict what is said of the argument.
    if (!updated[index])
      main.setResultAttr(index, attrs::kSharding, drawn);
  }
}

void Sharder::run() {
  mesh = drawMesh();
  builder.setInsertionPointToStart(module.getBody());
  auto meshOp = MeshOp::create(builder, module.getLoc(), "mesh", mesh);
  symbol = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
  if (options.hasTime)
    findExamples();
  SmallVector<SeedAttr> seeds;
  bool hasPriorities = chance(50);
  for (BlockArgument argument : main.getArguments()) {
    if (!chance(80))
      continue;
    unsigned index = argument.getArgNumber();
    ShardingAttr sharding = drawSharding(
        cast<RankedTensorType>(argument.getType()), hasExamples(argument));
    main.setArgAttr(index, attrs::kSharding, sharding);
    if (hasPriorities && chance(70))
      seeds.push_back(SeedAttr::get(
          builder.getContext(), builder.getStringAttr(getArgName(main, index)),
          sharding.getDims(), below(3)));
  }
  addResultShardings();
  addConstraints(options.constraintPercent);
  mesh = withUsedAxes();
  if (!mesh.getAxes().empty() && chance(50)) {
    SmallVector<Value> values(main.getArguments());
    for (Operation &op : main.getBody().front().without_terminator())
      values.push_back(op.getResult(0));
    for (Value value : values)
      while (chance(12))
        addReshard(value);
  }
  meshOp.setMeshAttr(mesh);
  module->setAttr(attrs::kPlan,
                  PlanAttr::get(builder.getContext(), mesh).withSeeds(seeds));
}

LogicalResult Sharder::makeStep() {
  PlanOptions plan;
  plan.set(PlanKey::Microbatches, 1 + below(3));
  plan.set(PlanKey::Dp, 1 + below(3));
  plan.set(PlanKey::Tp, 1 + below(3));
  if (plan.getInt(PlanKey::Dp) > 1 && chance(75))
    plan.set(PlanKey::Zero, 1 + below(3));
  const char *optimizers[] = {"sgd", "momentum", "adam", "adamw"};
  plan.set(PlanKey::Optimizer, optimizers[below(4)]);
  if (chance(30))
    plan.set(PlanKey::Clip, "0.1");
  if (failed(buildPlan(module, plan)))
    return failure();
  PassManager graph(module.getContext());
  graph.addPass(createDifferentiate());
  graph.addPass(createAddOptimizer({/*keepGradients=*/chance(50)}));
  if (failed(graph.run(module)))
    return failure();
  MeshOp meshOp = lookupMesh(module);
  mesh = meshOp.getMesh();
  symbol = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
  findExamples();
  // Without any, the planner would seek some, and may ask for too much.
  SmallVector<SeedAttr> seeds = drawSeeds(main, mesh, random);
  for (int tries = 0; tries < 10 && seeds.empty(); ++tries)
    seeds = drawSeeds(main, mesh, random);
  module->setAttr(
      attrs::kPlan,
      module->getAttrOfType<PlanAttr>(attrs::kPlan).withSeeds(seeds));
  if (chance(40))
    addConstraints(/*percent=*/3);
  addResultShardings();
  PassManager layouts(module.getContext());
  if (chance(50))
    layouts.addPass(createSplitConstants());
  layouts.addPass(createCutStages());
  layouts.addPass(createAnnotateShardings());
  return layouts.run(module);
}

} // namespace

void pp::testing::addRandomShardings(ModuleOp module, unsigned seed,
                                     const RandomShardingOptions &options) {
  Sharder(module, seed, options).run();
}

LogicalResult pp::testing::makeRandomStep(ModuleOp model, unsigned seed) {
  return Sharder(model, seed, {}).makeStep();
}
