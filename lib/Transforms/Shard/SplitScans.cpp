//===- SplitScans.cpp - splits scans into shards --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In and out: level 1 with a sharding on every value. Running sums, products
// and searches (cumsum, argmax, top_k) need their dimension whole. If it is
// split, each shard does its part first, if the op knows how and that sends
// less than gathering the dimension would. Otherwise the alternative is
// recorded for --pp-explain.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Builders.h"
#include "pp/Analysis/Factors.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"
#include "pp/Planner/InShards.h"
#include "pp/Transforms/Cause.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Sources.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_SPLITSCANS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

/// Takes the work of `op` along `dim` of its operand into the shards.
static void computeInShards(ShardingOpInterface op, unsigned dim,
                            const Layout &layout, const ScanCosts &costs,
                            const MeshView &mesh) {
  Operation *before = op->getPrevNode();
  OpBuilder builder(op);
  Value value =
      op.computeInShards(builder, dim, mesh.toSharding(layout), mesh.attr());
  const Location at = attachAlternative(
      dropSources(op->getLoc()),
      {"instead " + op->getName().getStringRef().str() + " of the whole row",
       static_cast<int64_t>(costs.gathered)});
  Operation *first = before ? before->getNextNode() : &op->getBlock()->front();
  for (Operation *built = first; built != op; built = built->getNextNode()) {
    built->setLoc(at);
    // A dimension is split there because the operand's is.
    const Layout ofBuilt = getLayout(built->getResult(0), mesh);
    inheritSources(built->getResult(0), op->getOperand(0), [&](int axis) {
      const auto *split = llvm::find_if(ofBuilt, [&](const AxisList &axes) {
        return llvm::is_contained(axes, axis);
      });
      return split == ofBuilt.end() ? -1 : int(split - ofBuilt.begin());
    });
    for (StringRef name : {attrs::kKind, attrs::kOrigin, attrs::kStages})
      if (Attribute mark = op->getAttr(name))
        built->setAttr(name, mark);
  }
  inheritSources(value, op->getResult(0));
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

namespace {

struct SplitScansPass : pp::impl::SplitScansBase<SplitScansPass> {
  void runOnModule() override {
    FailureOr<ShardedMain> sharded = ShardedMain::of(getOperation());
    if (failed(sharded))
      return signalPassFailure();
    for (Operation &op :
         llvm::make_early_inc_range(sharded->main.getBody().front()))
      if (auto shardable = dyn_cast<ShardingOpInterface>(op);
          shardable && op.getNumOperands() == 1)
        splitWhereItPays(shardable, sharded->mesh);
  }

  void splitWhereItPays(ShardingOpInterface op, const MeshView &mesh) {
    const Layout layout = getLayout(op->getOperand(0), mesh);
    for (auto [dim, axes] : llvm::enumerate(layout)) {
      if (axes.empty() || llvm::is_contained(axes, mesh.timeAxis()))
        continue;
      const std::optional<ScanCosts> costs =
          measureScan(op, dim, mesh.shardsOf(layout));
      if (costs && costs->paysInShards())
        return computeInShards(op, dim, layout, *costs, mesh);
    }
  }
};

} // namespace
