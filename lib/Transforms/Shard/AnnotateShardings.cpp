//===- AnnotateShardings.cpp - the plan's seeds onto the arguments --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: level 1 with a plan. Out: `pp.sharding` on the arguments that the plan's
// seeds name. A plan without seeds gets them first (pp/Planner): inputs
// split their first dimension over micro-batches and data parallelism, tensor
// parallelism splits the parameters that introduce a dimension which is never
// reduced but against another parameter. Everything else is derived.
//
//===----------------------------------------------------------------------===//
#include "ParameterLayouts.h"
#include "mlir/IR/Builders.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Model.h"
#include "pp/Planner/TensorSeeds.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_ANNOTATESHARDINGS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// The sharding of one argument, merged from all seeds that match its name.
class ArgumentSeed {
public:
  ArgumentSeed(func::FuncOp main, unsigned index, MeshAttr mesh)
      : main(main), mesh(mesh), name(getArgName(main, index)),
        type(cast<RankedTensorType>(main.getArgument(index).getType())),
        dims(type.getRank(),
             DimShardingAttr::get(main.getContext(), {}, true)) {}

  LogicalResult add(SeedAttr seed) {
    if (static_cast<int64_t>(seed.getDims().size()) != type.getRank())
      return fail(seed) << type.getRank() << " dimensions of " << type
                        << ", got " << seed.getDims().size();
    for (auto [dim, wanted] : llvm::enumerate(seed.getDims())) {
      DimShardingAttr &mine = dims[dim];
      if (wanted.getAxes().empty()) {
        if (mine.getAxes().empty() && !wanted.getIsOpen())
          mine = wanted;
        continue;
      }
      if (!mine.getAxes().empty())
        return fail(seed) << "dimension " << dim << " to be sharded once, got "
                          << mine << " and " << wanted;
      if (failed(check(seed, dim, wanted)))
        return failure();
      mine = wanted;
    }
    matched = true;
    return success();
  }

  bool isMatched() const { return matched; }
  ShardingAttr take(FlatSymbolRefAttr symbol) {
    return ShardingAttr::get(main.getContext(), symbol, dims, {});
  }

private:
  InFlightDiagnostic fail(SeedAttr seed) {
    return main.emitError("argument \"")
           << name << "\": seed " << seed << " expects ";
  }

  LogicalResult check(SeedAttr seed, size_t dim, DimShardingAttr wanted) {
    for (StringAttr axis : wanted.getAxes()) {
      if (!mesh.lookup(axis))
        return fail(seed) << "axes of " << mesh << ", got " << axis;
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

  func::FuncOp main;
  MeshAttr mesh;
  StringRef name;
  RankedTensorType type;
  SmallVector<DimShardingAttr> dims;
  llvm::SmallDenseSet<StringAttr> used;
  bool matched = false;
};

LogicalResult applySeeds(func::FuncOp main, PlanAttr plan,
                         FlatSymbolRefAttr symbol) {
  SeedTable seeds(plan);
  llvm::BitVector isUsed(plan.getSeeds().size());
  SmallVector<Attribute> shardings;
  for (unsigned index = 0; index < main.getNumArguments(); ++index) {
    if (Attribute given = main.getArgAttr(index, attrs::kSharding))
      return main.emitError("argument \"")
             << getArgName(main, index)
             << "\" expects its sharding from a seed of the plan, got "
             << given;
    ArgumentSeed argument(main, index, plan.getMesh());
    for (unsigned number : seeds.lookup(getArgName(main, index))) {
      isUsed.set(number);
      if (failed(argument.add(plan.getSeeds()[number])))
        return failure();
    }
    shardings.push_back(argument.isMatched() ? argument.take(symbol)
                                             : Attribute());
  }
  setArgAttrs(main, attrs::kSharding, shardings);
  for (auto [number, seed] : llvm::enumerate(plan.getSeeds()))
    if (!isUsed.test(number))
      return main.emitError("expects every seed to name an argument, got ")
             << seed;
  return success();
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
      FailureOr<SmallVector<SeedAttr>> seeds =
          findSeeds(*main, *plan);
      if (failed(seeds))
        return signalPassFailure();
      *plan = plan->withSeeds(*seeds);
      module->setAttr(attrs::kPlan, *plan);
    }
    int64_t zero = plan->getInt(PlanKey::Zero);
    if (zero && !plan->getMesh().lookup("dp")) {
      module.emitError("expects an axis \"dp\" in the mesh of a plan with zero "
                       "= ")
          << zero << ", got " << plan->getMesh();
      return signalPassFailure();
    }
    Builder builder(&getContext());
    if (failed(writeParameterLayouts(*main, zero,
                                     builder.getStrArrayAttr({"dp"}))) ||
        failed(applySeeds(*main, *plan,
                          FlatSymbolRefAttr::get(mesh.getSymNameAttr()))))
      signalPassFailure();
  }
};

} // namespace
