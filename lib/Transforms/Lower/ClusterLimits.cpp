//===- ClusterLimits.cpp - limits the size of kernels ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Many ops may be able to share a kernel: a sum over layers, or over all
// parameters, is a chain as long as the model is deep. A target limits the
// number of buffers and of live values; and the addends of such a chain should
// not stay in memory until the last one exists.
//
//===----------------------------------------------------------------------===//
#include "KernelClusters.h"
#include "pp/IR/Values.h"

using namespace mlir;
using namespace pp;

namespace {

/// A kernel that may come to be.
struct Union {
  SmallVector<Operation *> ops;       ///< in the order of the block
  DenseMap<Value, unsigned> lastRead; ///< by one of `ops`
  llvm::SetVector<Value> inputs;
  llvm::SmallPtrSet<Operation *, 16> outputs;

  Union(ArrayRef<const KernelCluster *> clusters, Operation *op,
        const FreeOps &free);

  bool contains(Operation *other) const { return places.contains(other); }
  unsigned countMostLive() const;

private:
  DenseMap<Operation *, unsigned> places;
};

} // namespace

/// Calls `visit` for the readers of `value`, looking through free ops.
static void visitReaders(Value value, const FreeOps &free,
                         function_ref<void(Operation *)> visit) {
  for (Operation *user : value.getUsers())
    if (free.contains(user))
      visitReaders(user->getResult(0), free, visit);
    else
      visit(user);
}

Union::Union(ArrayRef<const KernelCluster *> clusters, Operation *op,
             const FreeOps &free) {
  for (const KernelCluster *cluster : clusters)
    ops.append(cluster->ops.begin(), cluster->ops.end());
  if (op)
    ops.push_back(op);
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (auto [place, member] : llvm::enumerate(ops))
    places[member] = place;
  for (auto [place, member] : llvm::enumerate(ops)) {
    free.forEachRead(member, [&, place = place](Value value) {
      if (value.getDefiningOp() && contains(value.getDefiningOp()))
        lastRead[value] = place;
      else
        inputs.insert(value);
    });
    visitReaders(member->getResult(0), free,
                 [&, member = member](Operation *reader) {
                   if (!contains(reader))
                     outputs.insert(member);
                 });
  }
}

/// Values that were computed and are still to be read; a number alone is in no
/// row.
unsigned Union::countMostLive() const {
  unsigned most = 0, live = 0;
  SmallVector<unsigned> ends(ops.size(), 0);
  for (auto [place, op] : llvm::enumerate(ops)) {
    live -= ends[place];
    Value value = op->getResult(0);
    auto last = lastRead.find(value);
    if (last == lastRead.end() || last->second == place ||
        ranked(value).getNumElements() == 1)
      continue;
    ++ends[last->second];
    most = std::max(most, ++live);
  }
  return most;
}

bool KernelClusters::fits(ArrayRef<const KernelCluster *> merged,
                          Operation *op) const {
  const Union all(merged, op, free);
  if (all.inputs.size() + all.outputs.size() > tuning.mostBuffers ||
      all.countMostLive() > tuning.mostLiveValues)
    return false;
  Operation *boundary = boundaryBefore.lookup(all.ops.back());
  if (!op || !boundary || boundary->isBeforeInBlock(all.ops.front()))
    return true;
  // Ops before the boundary could run before it. Their private operands would
  // not live across it then; their results with other readers would.
  int64_t held = 0;
  for (Value input : all.inputs) {
    bool isReadAfter = !input.getDefiningOp();
    visitReaders(input, free, [&](Operation *reader) {
      Operation *top = block.findAncestorOpInBlock(*reader);
      isReadAfter |= boundary->isBeforeInBlock(top);
    });
    if (!isReadAfter)
      held += getTensorBytes(input.getType());
  }
  for (Operation *member : all.ops)
    if (auto last = all.lastRead.find(member->getResult(0));
        member->isBeforeInBlock(boundary) && last != all.lastRead.end() &&
        boundary->isBeforeInBlock(all.ops[last->second]) &&
        !all.outputs.contains(member))
      held -= getTensorBytes(member->getResult(0).getType());
  return held <= tuning.mostHeldBytes;
}
