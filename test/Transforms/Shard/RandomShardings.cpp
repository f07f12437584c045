//===- RandomShardings.cpp - a mesh and shardings to start from -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "RandomShardings.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"
#include <random>

using namespace mlir;
using namespace pp;

namespace {

class Sharder {
public:
  Sharder(ModuleOp module, unsigned seed)
      : module(module), builder(module.getContext()), random(seed) {}

  void run(int64_t constraintPercent);

private:
  int64_t below(int64_t limit) { return random() % limit; }
  bool chance(int64_t percent) { return below(100) < percent; }
  MeshAttr drawMesh();
  ShardingAttr drawSharding(RankedTensorType type);
  MeshAttr withUsedAxes();
  void addReshard(Value value);

  ModuleOp module;
  OpBuilder builder;
  std::mt19937 random;
  MeshAttr mesh;
  FlatSymbolRefAttr symbol;
  llvm::DenseSet<StringAttr> used;
};

MeshAttr Sharder::drawMesh() {
  SmallVector<MeshAxisAttr> axes;
  int64_t devices = 1;
  for (StringRef name : {"a", "b", "c"}) {
    int64_t size = chance(70) ? 2 : 3;
    if (devices * size > 12)
      continue;
    devices *= size;
    axes.push_back(MeshAxisAttr::get(builder.getContext(),
                                     builder.getStringAttr(name), size,
                                     AxisKind::Space));
    if (chance(40))
      break;
  }
  return MeshAttr::get(builder.getContext(), axes);
}

ShardingAttr Sharder::drawSharding(RankedTensorType type) {
  SmallVector<SmallVector<StringAttr>> dims(type.getRank());
  SmallVector<int64_t> shards(type.getRank(), 1);
  SmallVector<MeshAxisAttr> axes(mesh.getAxes());
  std::shuffle(axes.begin(), axes.end(), random);
  for (MeshAxisAttr axis : axes) {
    if (type.getRank() == 0 || chance(40))
      continue;
    int64_t dim = below(type.getRank());
    if (shards[dim] * axis.getSize() > type.getDimSize(dim))
      continue;
    shards[dim] *= axis.getSize();
    dims[dim].push_back(axis.getName());
    used.insert(axis.getName());
  }
  return ShardingAttr::fromAxes(symbol, dims, /*open=*/chance(70));
}

/// An axis that splits nothing is an error.
MeshAttr Sharder::withUsedAxes() {
  SmallVector<MeshAxisAttr> axes;
  for (MeshAxisAttr axis : mesh.getAxes())
    if (used.contains(axis.getName()))
      axes.push_back(axis);
  return MeshAttr::get(builder.getContext(), axes);
}

/// Some users of `value` read it in another layout.
void Sharder::addReshard(Value value) {
  SmallVector<Attribute> axes;
  for (MeshAxisAttr axis : mesh.getAxes())
    if (chance(50))
      axes.push_back(axis.getName());
  if (axes.empty())
    axes.push_back(mesh.getAxes()[below(mesh.getAxes().size())].getName());
  llvm::shuffle(axes.begin(), axes.end(), random);
  const bool isWith = chance(50);
  builder.setInsertionPointAfterValue(value);
  auto reshard =
      ReshardOp::create(builder, value.getLoc(), value.getType(), value,
                        isWith ? LayoutChange::With : LayoutChange::Without,
                        builder.getArrayAttr(axes), isWith && chance(30));
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    if (use.getOwner() != reshard && chance(70))
      uses.push_back(&use);
  for (OpOperand *use : uses)
    use->set(reshard);
}

void Sharder::run(int64_t constraintPercent) {
  mesh = drawMesh();
  builder.setInsertionPointToStart(module.getBody());
  auto meshOp = MeshOp::create(builder, module.getLoc(), "mesh", mesh);
  symbol = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
  auto main = module.lookupSymbol<func::FuncOp>("main");
  SmallVector<SeedAttr> seeds;
  bool hasPriorities = chance(50);
  for (auto [index, type] : llvm::enumerate(main.getArgumentTypes())) {
    if (!chance(80))
      continue;
    ShardingAttr sharding = drawSharding(cast<RankedTensorType>(type));
    main.setArgAttr(index, attrs::kSharding, sharding);
    if (hasPriorities && chance(70))
      seeds.push_back(SeedAttr::get(
          builder.getContext(), builder.getStringAttr(getArgName(main, index)),
          sharding.getDims(), below(3)));
  }
  for (auto [index, type] : llvm::enumerate(main.getResultTypes()))
    if (chance(40))
      main.setResultAttr(index, attrs::kSharding,
                         drawSharding(cast<RankedTensorType>(type)));
  SmallVector<Operation *> ops;
  for (Operation &op : main.getBody().front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops) {
    if (!chance(constraintPercent))
      continue;
    Value value = op->getResult(0);
    builder.setInsertionPointAfter(op);
    bool isClosed = chance(40);
    auto constraint = ShardingConstraintOp::create(
        builder, op->getLoc(), value.getType(), value,
        isClosed && chance(30) ? ConstrainedSide::Operand
                               : ConstrainedSide::Result,
        drawSharding(cast<RankedTensorType>(value.getType())), isClosed,
        /*priority=*/IntegerAttr());
    value.replaceAllUsesExcept(constraint, constraint);
  }
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

} // namespace

void pp::testing::addRandomShardings(ModuleOp module, unsigned seed,
                                     int64_t constraintPercent) {
  Sharder(module, seed).run(constraintPercent);
}
