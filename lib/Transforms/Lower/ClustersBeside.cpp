//===- ClustersBeside.cpp - independent kernels share launches ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// On a GPU a launch costs as much as a small kernel computes. So if the target
// asks for it, kernels that no other kernel waits for (updates of parameters,
// sums of gradients) share launches: ops that are near each other in the block
// and wait for the same collective, so that nothing lives or waits longer for
// it. So do the sums of an update, such as those of squares: its parameters
// wait for all of them, and gradients live until then.
//
//===----------------------------------------------------------------------===//
#include "KernelClusters.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;

/// Limit of kernels between two near ones. A kernel that reads another waits
/// for it.
static constexpr unsigned kMostBetween = 4;

namespace {

/// A group that is still added to.
struct Group {
  KernelCluster *cluster;
  Operation *waitsFor;
  bool isFlat, isTotal;
  unsigned size = 1;
};

} // namespace

/// Whether each element is computed by itself.
static bool isFlat(const KernelCluster &cluster) {
  return llvm::none_of(cluster.ops, [](Operation *op) {
    return op->hasTrait<DropsDimensions>();
  });
}

/// Whether it sums, in an update, and each of its rows has one number of a sum.
static bool isTotal(const KernelCluster &cluster) {
  return getKind(cluster.ops.back()) == Kind::Update && !isFlat(cluster) &&
         llvm::all_of(cluster.ops, [&](Operation *op) {
           return !op->hasTrait<DropsDimensions>() ||
                  ranked(op->getResult(0)).getNumElements() ==
                      cluster.options.front().rows;
         });
}

/// One row of everything: elements are not divided into rows at all.
static RowOption undivided(const KernelCluster &cluster) {
  RowOption option;
  for (Operation *op : cluster.ops)
    option.layouts[op->getResult(0)] =
        wholeLayout(cast<RankedTensorType>(op->getResult(0).getType()));
  return option;
}

/// Whether nothing of it is read by a kernel.
bool KernelClusters::isLeaf(const KernelCluster &cluster) const {
  bool isRead = false;
  for (Operation *op : cluster.ops)
    forEachReader(op, [&](Operation *reader) {
      isRead |= !cluster.ops.contains(reader) &&
                (isKernelOp(reader) || isa<LaunchOp>(reader));
    });
  return !isRead;
}

/// Calls `visit` for the operands of `op`, looking through free ops.
void KernelClusters::forEachProducer(
    Operation *op, function_ref<void(Operation *)> visit) const {
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || producer->getBlock() != &block)
        continue;
      if (free.contains(producer))
        forEachProducer(producer, visit);
      else
        visit(producer);
    }
  });
}

/// The ops that wait for `cluster`, by reads or by the order of ops, and those
/// it waits for.
DenseSet<Operation *>
KernelClusters::findRelated(const KernelCluster &cluster) const {
  auto search = [&](auto forEachNext) {
    SmallVector<Operation *> work(cluster.ops.begin(), cluster.ops.end());
    DenseSet<Operation *> visited(cluster.ops.begin(), cluster.ops.end());
    auto visit = [&](Operation *op) {
      KernelCluster *itsCluster = owner.lookup(op);
      for (Operation *member : itsCluster ? itsCluster->ops.getArrayRef()
                                          : ArrayRef<Operation *>(op))
        if (visited.insert(member).second)
          work.push_back(member);
    };
    while (!work.empty())
      forEachNext(work.pop_back_val(), visit);
    return visited;
  };
  auto visitIfAny = [](Operation *op, auto visit) {
    if (op)
      visit(op);
  };
  DenseSet<Operation *> related = search([&](Operation *op, auto visit) {
    forEachReader(op, visit);
    visitIfAny(nextOf.lookup(op), visit);
  });
  related.insert_range(search([&](Operation *op, auto visit) {
    forEachProducer(op, visit);
    visitIfAny(previousOf.lookup(op), visit);
  }));
  return related;
}

/// How many kernels stand between two, the first of which ends before the other
/// does; no more than one too many is counted.
unsigned KernelClusters::countBetween(const KernelCluster &first,
                                      const KernelCluster &second) const {
  llvm::SmallPtrSet<void *, 8> between;
  for (Operation *op = first.ops.back()->getNextNode();
       op && op != second.ops.back() && between.size() <= kMostBetween;
       op = op->getNextNode()) {
    KernelCluster *cluster = owner.lookup(op);
    if (isa<LaunchOp>(op))
      between.insert(op);
    else if (cluster && cluster != &second && cluster != &first)
      between.insert(cluster);
  }
  return between.size();
}

/// For each op, the last op that it must follow to keep the order.
static DenseMap<Operation *, Operation *> findWaits(Block &block) {
  DenseMap<Operation *, Operation *> waits;
  for (Operation &op : block) {
    Operation *&last = waits[&op];
    op.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (!producer || producer->getBlock() != &block)
          continue;
        Operation *other =
            isOrderedOp(producer) ? producer : waits.lookup(producer);
        if (other && (!last || last->isBeforeInBlock(other)))
          last = other;
      }
    });
  }
  return waits;
}

void KernelClusters::joinBeside() {
  if (tuning.tensorsPerLaunch == 1 && tuning.sumsPerLaunch == 1)
    return;
  DenseMap<Operation *, Operation *> waits = findWaits(block);
  SmallVector<Group> groups;
  for (auto &pointer : clusters) {
    KernelCluster &cluster = *pointer;
    if (cluster.ops.empty() || cluster.isAlone)
      continue;
    Group mine{&cluster, nullptr, isFlat(cluster), isTotal(cluster)};
    if (!mine.isTotal && !isLeaf(cluster))
      continue;
    for (Operation *op : cluster.ops)
      if (Operation *last = waits.lookup(op);
          last && (!mine.waitsFor || mine.waitsFor->isBeforeInBlock(last)))
        mine.waitsFor = last;
    // Found once for all groups, and only where one comes so far.
    std::optional<DenseSet<Operation *>> related;
    auto isRelated = [&](const KernelCluster &other) {
      if (!related)
        related = findRelated(cluster);
      return related->contains(other.ops.front());
    };
    auto takes = [&](Group &group) {
      KernelCluster &other = *group.cluster;
      const bool keepsNothing = mine.isFlat || mine.isTotal;
      if (group.isFlat != mine.isFlat || group.isTotal != mine.isTotal ||
          group.waitsFor != mine.waitsFor ||
          group.size ==
              (keepsNothing ? tuning.tensorsPerLaunch : tuning.sumsPerLaunch) ||
          getKind(other.ops.back()) != getKind(cluster.ops.back()) ||
          !other.ops.back()->isBeforeInBlock(cluster.ops.back()) ||
          (!mine.isTotal && countBetween(other, cluster) > kMostBetween) ||
          !fits({&other, &cluster}, nullptr) || isRelated(other))
        return false;
      SmallVector<RowOption> both;
      if (!mine.isFlat)
        both = combine(other.options, cluster.options);
      // The row of a total has a core of its own.
      llvm::erase_if(both, [&](const RowOption &option) {
        return option.rows == 1 && !mine.isTotal &&
               countElements({&other, &cluster}) > tuning.serialElements;
      });
      // Neither is divided worse for it.
      if (!mine.isFlat &&
          (both.empty() || both.front().rows != other.options.front().rows ||
           both.front().rows != cluster.options.front().rows))
        return false;
      absorb(other, cluster);
      if (mine.isFlat)
        both = {undivided(other)};
      other.options = std::move(both);
      ++group.size;
      return true;
    };
    auto last = llvm::find_if(llvm::reverse(groups), takes);
    if (last == llvm::reverse(groups).end())
      groups.push_back(mine);
  }
}
