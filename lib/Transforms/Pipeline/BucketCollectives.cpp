//===- BucketCollectives.cpp - join small all_reduces ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes and leaves level 3. Only update fragments are touched: there every
// all_reduce of a gradient waits for the same thing, the end of the backward
// pass, so joining them delays none.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Builders.h"
#include "pp/IR/Kernel.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_BUCKETCOLLECTIVES
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// What calls must share to be joined.
using GroupKey = std::tuple<int, Attribute, Attribute, Attribute, Type>;

GroupKey keyOf(AllReduceOp op) {
  auto type = cast<RankedTensorType>(op.getOperand(0).getType());
  return {static_cast<int>(op.getReduction()), op.getMeshAttr(),
          op.getAxesAttr(), op.getStagesAttr(), type.getElementType()};
}

int64_t bytesOf(AllReduceOp op) {
  int64_t bytes = 0;
  for (Value operand : op.getOperands())
    bytes += getTensorBytes(operand.getType());
  return bytes;
}

struct BucketCollectivesPass
    : pp::impl::BucketCollectivesBase<BucketCollectivesPass> {
  using BucketCollectivesBase::BucketCollectivesBase;

  void runOnOperation() override {
    if (bucketBytes < 0) {
      getOperation().emitError("expects bucket-bytes of at least 0, got ")
          << bucketBytes.getValue();
      return signalPassFailure();
    }
    auto main = lookupSplitMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    if (MeshOp mesh = lookupMesh(getOperation()))
      if (MeshAxisAttr axis = mesh.getMesh().getStageAxis())
        stageAxis = axis.getName();
    for (auto fragment : main->getOps<FragmentOp>())
      if (fragment.getPhase() == Phase::Update)
        bucket(fragment.getBody().front());
  }

private:
  /// Members of a group over the stage axis run different fragments, which
  /// might be joined differently: such calls stay as they are, and in order.
  bool isOverStages(Operation *op) const {
    auto reduce = dyn_cast<AllReduceOp>(op);
    return reduce && llvm::is_contained(reduce.getAxes(), stageAxis);
  }

  StringAttr stageAxis;

  /// Depth counts the all_reduces on the longest path to a call, where a call
  /// over stages follows the one before it. Calls of equal depth do not depend
  /// on each other, so any of them may be joined.
  void bucket(Block &block) {
    llvm::DenseMap<Operation *, int64_t> depths;
    llvm::MapVector<std::pair<int64_t, GroupKey>, SmallVector<AllReduceOp>>
        groups;
    int64_t depthOverStages = 0;
    for (Operation &op : block.without_terminator()) {
      int64_t depth = 0;
      for (Value operand : op.getOperands())
        if (Operation *def = operand.getDefiningOp())
          depth = std::max(depth, depths.lookup(def) + isa<AllReduceOp>(def));
      if (isOverStages(&op)) {
        depth = std::max(depth, depthOverStages);
        depthOverStages = depth + 1;
      } else if (auto reduce = dyn_cast<AllReduceOp>(op);
                 reduce && reduce.getNumOperands() > 0) {
        groups[{depth, keyOf(reduce)}].push_back(reduce);
      }
      depths[&op] = depth;
    }
    for (auto &[key, calls] : groups) {
      SmallVector<AllReduceOp> bucket;
      int64_t bytes = 0;
      for (AllReduceOp call : calls) {
        if (!bucket.empty() && bytes + bytesOf(call) > bucketBytes) {
          join(bucket);
          bucket.clear();
          bytes = 0;
        }
        bucket.push_back(call);
        bytes += bytesOf(call);
      }
      join(bucket);
    }
    sortTopologically(block);
  }

  static void join(ArrayRef<AllReduceOp> calls) {
    if (calls.size() < 2)
      return;
    AllReduceOp last = calls.back();
    SmallVector<Value> operands;
    SmallVector<Location> locations;
    for (AllReduceOp call : calls) {
      llvm::append_range(operands, call.getOperands());
      locations.push_back(call.getLoc());
    }
    OpBuilder builder(last);
    auto joined = AllReduceOp::create(
        builder, builder.getFusedLoc(locations),
        ValueRange(operands).getTypes(), last.getReductionAttr(), operands,
        last.getMeshAttr(), last.getAxesAttr(), last.getStagesAttr());
    joined->setDiscardableAttrs(last->getDiscardableAttrDictionary());
    unsigned next = 0;
    for (AllReduceOp call : calls)
      for (Value result : call.getResults())
        result.replaceAllUsesWith(joined.getResult(next++));
    for (AllReduceOp call : calls)
      call->erase();
  }

  /// Users of a call that was joined further down move behind it; the order is
  /// otherwise kept.
  void sortTopologically(Block &block) const {
    SmallVector<Operation *> order;
    llvm::DenseSet<Operation *> done;
    SmallVector<Operation *> originals;
    Operation *last = nullptr;
    llvm::DenseMap<Operation *, Operation *> previousOverStages;
    for (Operation &op : block.without_terminator()) {
      originals.push_back(&op);
      if (!isOverStages(&op))
        continue;
      previousOverStages[&op] = last;
      last = &op;
    }
    std::function<void(Operation *)> visit = [&](Operation *op) {
      if (!done.insert(op).second)
        return;
      if (Operation *previous = previousOverStages.lookup(op))
        visit(previous);
      for (Value operand : op->getOperands())
        if (Operation *def = operand.getDefiningOp())
          visit(def);
      order.push_back(op);
    };
    for (Operation *op : originals)
      visit(op);
    for (Operation *op : order)
      op->moveBefore(block.getTerminator());
  }
};

} // namespace
