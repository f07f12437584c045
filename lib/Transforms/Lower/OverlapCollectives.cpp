//===- OverlapCollectives.cpp - issue collectives before need -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes and leaves level 3 with formed kernels. Queues run beside each other,
// so what a collective overlaps is what stands between it and the first reader
// of its results. One that waits for nothing in its fragment could stand at the
// fragment's begin, and with all others hold the whole model: how far it goes
// up is bounded by the plan. Lists that other stages have to match, those of
// sums over stages, keep their places.
//
//===----------------------------------------------------------------------===//
#include "pp/IR/Model.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_OVERLAPCOLLECTIVES
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

class Fragment {
public:
  Fragment(Block &block, StringAttr stageAxis)
      : block(block), stageAxis(stageAxis) {}

  void moveUp(uint64_t ahead);

private:
  bool mayMove(Operation &op) const;
  /// Collectives that need nothing but what the fragment is given, by the first
  /// instruction that does need one of them.
  llvm::MapVector<Operation *, SmallVector<Operation *>> findFree() const;

  Block &block;
  StringAttr stageAxis;
};

struct OverlapCollectivesPass
    : pp::impl::OverlapCollectivesBase<OverlapCollectivesPass> {
  void runOnOperation() override {
    auto main = lookupSplitMain(getOperation());
    auto plan = lookupPlan(getOperation());
    if (failed(main) || failed(plan))
      return signalPassFailure();
    StringAttr stageAxis;
    if (MeshAxisAttr axis = plan->getMesh().getStageAxis())
      stageAxis = axis.getName();
    for (auto fragment : main->getOps<FragmentOp>())
      Fragment(fragment.getBody().front(), stageAxis)
          .moveUp(plan->getInt(PlanKey::Ahead));
  }
};

} // namespace

bool Fragment::mayMove(Operation &op) const {
  auto axes = op.getAttrOfType<ArrayAttr>("axes");
  return isCollective(&op) &&
         !(stageAxis && llvm::is_contained(axes, stageAxis));
}

llvm::MapVector<Operation *, SmallVector<Operation *>>
Fragment::findFree() const {
  SmallVector<Operation *> free;
  llvm::DenseMap<Operation *, Operation *> firstReader;
  for (Operation &op : block)
    if (mayMove(op) && llvm::all_of(op.getOperands(), [&](Value operand) {
          Operation *producer = operand.getDefiningOp();
          return !producer || firstReader.contains(producer);
        })) {
      free.push_back(&op);
      firstReader[&op] = block.getTerminator();
    }
  // What is gathered twice is needed when the second of the results is.
  for (Operation *op : llvm::reverse(free))
    for (Operation *user : op->getUsers()) {
      auto between = firstReader.find(user);
      Operation *reader = between == firstReader.end() ? user : between->second;
      if (reader->isBeforeInBlock(firstReader[op]))
        firstReader[op] = reader;
    }
  llvm::MapVector<Operation *, SmallVector<Operation *>> result;
  SmallVector<Operation *> readers;
  for (Operation *op : free)
    readers.push_back(firstReader[op]);
  llvm::sort(readers,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *reader : readers)
    result.try_emplace(reader);
  for (Operation *op : free)
    result[firstReader[op]].push_back(op);
  return result;
}

void Fragment::moveUp(uint64_t ahead) {
  auto free = findFree();
  SmallVector<Operation *> readers(llvm::make_first_range(free));
  // Before the first of the block that stays.
  llvm::DenseSet<Operation *> moved;
  for (const auto &[reader, calls] : free)
    moved.insert_range(calls);
  Operation *first = &*llvm::find_if(
      block, [&](Operation &op) { return !moved.contains(&op); });
  for (auto [index, entry] : llvm::enumerate(free))
    for (Operation *call : entry.second)
      call->moveBefore(index < ahead ? first : readers[index - ahead]);
}
