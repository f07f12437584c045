//===- KernelClusters.cpp - groups ops into kernels -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In block order every op joins the clusters of its operands if there is a way
// to divide all of them into rows, and if nothing outside would have to run
// between them; else it starts a cluster. So a tensor that is produced and used
// row by row never reaches memory. A second round lets clusters compute cheap
// ops again where reading their operands costs less than reading them.
//
//===----------------------------------------------------------------------===//
#include "KernelClusters.h"
#include "pp/IR/PaddedRows.h"
#include "pp/IR/Values.h"

using namespace mlir;
using namespace pp;

namespace {

bool isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>();
}

/// Worth computing again rather than stored.
bool isCheapOp(Operation *op) {
  return isKernelOp(op) &&
         ((isElementwise(op) && !op->hasTrait<Transcendental>()) ||
          isa<ReshapeOp>(op));
}

double storedBytes(Value value) { return getTensorBytes(value.getType()); }

/// Each element is computed from many of an operand. Those of a sum along rows
/// are, too, but it is computed once for all who read it. A scatter_add is as
/// good as elementwise where there is one index for each row, as that of a
/// label: the element is the update or not.
bool readsManyForEach(Operation *op) {
  if (auto scatter = dyn_cast<ScatterAddOp>(op))
    return ShapedType::getNumElements(ranked(scatter.getIndices())
                                          .getShape()
                                          .drop_front(scatter.getBatchDims())) >
           1;
  return op->hasTrait<ReadsMany>();
}

/// Values that are copied several times are computed once.
bool repeatsElements(Operation *op) {
  auto gather = dyn_cast<GatherOp>(op);
  return gather && ranked(gather).getNumElements() >=
                       2 * ranked(gather.getOperand()).getNumElements();
}
bool computesElements(const KernelCluster &cluster) {
  return llvm::any_of(cluster.ops, [](Operation *op) {
    return !op->hasTrait<MovesElements>();
  });
}

bool isScalar(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements() == 1;
}

/// True if the op itself must produce a buffer for something that is no kernel.
bool isReadOutside(Operation *op) {
  return llvm::any_of(op->getUsers(),
                      [](Operation *user) { return !isKernelOp(user); });
}

} // namespace

bool pp::isOrderedOp(Operation *op) {
  return !isKernelOp(op) && !isa<LaunchOp>(op);
}

FreeOps::FreeOps(Block &block) {
  for (Operation &op : block) {
    if (!isKernelOp(&op) || isReadOutside(&op))
      continue;
    // A mask: an elementwise op on nothing but counters and literals.
    bool isFree = op.hasTrait<MadeByReaders>() || isRowSlice(&op) ||
                  (isElementwise(&op) && !op.hasTrait<Transcendental>() &&
                   llvm::all_of(op.getOperands(), [&](Value operand) {
                     return isMaskOperand(operand);
                   }));
    if (isFree)
      ops.insert(&op);
  }
}

/// A broadcast is free whatever it repeats, which a mask is not.
bool FreeOps::isMaskOperand(Value value) const {
  Operation *producer = value.getDefiningOp();
  if (auto broadcast = dyn_cast_or_null<BroadcastOp>(producer)) {
    producer = broadcast.getOperand().getDefiningOp();
    if (isa_and_present<BroadcastOp>(producer))
      return false;
  }
  return producer && contains(producer);
}

void FreeOps::forEachRead(Operation *op,
                          llvm::function_ref<void(Value)> visit) const {
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (producer && contains(producer))
      forEachRead(producer, visit);
    else
      visit(operand);
  }
}

SetVector<Value> KernelClusters::inputsOf(const KernelCluster &cluster) const {
  SetVector<Value> inputs;
  for (Operation *op : cluster.ops)
    free.forEachRead(op, [&](Value value) {
      if (!value.getDefiningOp() ||
          !cluster.ops.contains(value.getDefiningOp()))
        inputs.insert(value);
    });
  return inputs;
}

KernelClusters::KernelClusters(Block &block, const pprt::KernelTuning &tuning)
    : block(block), tuning(tuning), free(block) {
  Operation *previous = nullptr, *boundary = nullptr;
  for (Operation &op : block) {
    if (isKernelOp(&op))
      boundaryBefore[&op] = boundary;
    else
      boundary = &op;
    if (isOrderedOp(&op)) {
      previousOf[&op] = previous;
      if (previous)
        nextOf[previous] = &op;
      previous = &op;
    }
  }
}

KernelCluster *KernelClusters::createCluster(Operation *op) {
  clusters.push_back(std::make_unique<KernelCluster>());
  KernelCluster *cluster = clusters.back().get();
  cluster->ops.insert(op);
  owner[op] = cluster;
  return cluster;
}

/// Calls `visit` for the readers of `op`, looking through free ops.
void KernelClusters::forEachReader(
    Operation *op, function_ref<void(Operation *)> visit) const {
  for (Operation *user : op->getUsers()) {
    Operation *reader = block.findAncestorOpInBlock(*user);
    if (free.contains(reader))
      forEachReader(reader, visit);
    else
      visit(reader);
  }
}

/// True if a path, of reads or from an ordered op to the next, leaves the
/// merged clusters and comes back into them or `op`. It goes through ops before
/// `op`, where all clusters end so far.
bool KernelClusters::comesBack(ArrayRef<KernelCluster *> merged,
                               Operation *op) {
  SmallVector<Operation *> work;
  DenseSet<Operation *> visited;
  auto isInside = [&](Operation *user) {
    return user == op || llvm::is_contained(merged, owner.lookup(user));
  };
  auto push = [&](Operation *from, bool fromInside) {
    bool found = false;
    auto visit = [&](Operation *user) {
      if (isInside(user))
        found |= !fromInside;
      else if (user->isBeforeInBlock(op) && visited.insert(user).second)
        work.push_back(user);
    };
    forEachReader(from, visit);
    if (Operation *next = nextOf.lookup(from))
      visit(next);
    return found;
  };
  for (KernelCluster *cluster : merged)
    for (Operation *member : cluster->ops)
      push(member, /*fromInside=*/true);
  while (!work.empty()) {
    Operation *next = work.pop_back_val();
    KernelCluster *cluster = owner.lookup(next);
    if (!cluster) {
      if (push(next, /*fromInside=*/false))
        return true;
      continue;
    }
    for (Operation *member : cluster->ops)
      if ((member == next || visited.insert(member).second) &&
          push(member, /*fromInside=*/false))
        return true;
  }
  return false;
}

/// The same from the operands of `op` and of the clusters alone, no further
/// back than the clusters begin. It finds most of what comesBack() finds, and
/// sooner. A cluster is in no cycle alone: with one, only the other operands of
/// `op` matter.
bool KernelClusters::wouldCycle(ArrayRef<KernelCluster *> merged,
                                Operation *op) {
  Operation *first = op;
  for (KernelCluster *cluster : merged) // which are in the order of the block
    if (cluster->ops.front()->isBeforeInBlock(first))
      first = cluster->ops.front();
  SmallVector<Operation *> work;
  DenseSet<Operation *> visited;
  bool isInside = true; // ops of the union themselves do not count as reached
  bool found = false, readsOthers = false;
  auto visit = [&](Operation *producer) {
    if (!producer || producer->getBlock() != &block)
      return;
    KernelCluster *cluster = owner.lookup(producer);
    if (producer == op || llvm::is_contained(merged, cluster)) {
      found |= !isInside;
      return;
    }
    readsOthers = true;
    // Nothing that ends before the union begins can read from it.
    if ((cluster ? cluster->ops.back() : producer)->isBeforeInBlock(first))
      return;
    if (visited.insert(producer).second)
      work.push_back(producer);
  };
  auto push = [&](Operation *from) {
    free.forEachRead(from, [&](Value value) { visit(value.getDefiningOp()); });
    visit(previousOf.lookup(from));
  };
  push(op);
  if (merged.size() == 1 && !readsOthers)
    return false;
  if (merged.size() > 1)
    for (KernelCluster *cluster : merged)
      for (Operation *member : cluster->ops)
        push(member);
  isInside = false;
  while (!work.empty() && !found) {
    Operation *next = work.pop_back_val();
    if (KernelCluster *cluster = owner.lookup(next)) {
      for (Operation *member : cluster->ops)
        if (visited.insert(member).second || member == next)
          push(member);
    } else {
      push(next);
    }
  }
  return found || comesBack(merged, op);
}

void KernelClusters::absorb(KernelCluster &into, KernelCluster &from) {
  SmallVector<Operation *> all(into.ops.begin(), into.ops.end());
  all.append(from.ops.begin(), from.ops.end());
  llvm::sort(all,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  into.ops.clear();
  into.ops.insert(all.begin(), all.end());
  for (Operation *op : from.ops)
    owner[op] = &into;
  from.ops.clear();
  from.options.clear();
}

SmallVector<RowOption> pp::combine(ArrayRef<RowOption> a,
                                   ArrayRef<RowOption> b) {
  SmallVector<RowOption> both;
  for (const RowOption &left : a)
    for (const RowOption &right : b) {
      if (left.rows != right.rows)
        continue;
      RowOption option = left;
      for (auto &entry : right.layouts)
        option.layouts.insert(entry);
      both.push_back(std::move(option));
    }
  return both;
}

/// Leaves the ways in which a kernel may compute `op`, too.
static void extendOptions(SmallVectorImpl<RowOption> &options, Operation *op,
                          const FreeOps &free, const pprt::KernelTuning &tuning,
                          int64_t others) {
  llvm::erase_if(options, [&](RowOption &option) {
    auto layout = extendOption(option, op, free, tuning, others);
    if (layout)
      option.layouts[op->getResult(0)] = *layout;
    return !layout;
  });
}

/// If rows are kept, ops are judged one by one: all of them share a core's
/// cache. Otherwise all keep their operands in registers.
int64_t KernelClusters::countElements(ArrayRef<KernelCluster *> merged) const {
  int64_t count = 0;
  if (!tuning.keepsRows)
    for (KernelCluster *cluster : merged)
      for (Operation *op : cluster->ops)
        count += pp::countElements(op);
  return count;
}

bool KernelClusters::tryJoin(Operation *op) {
  SmallVector<KernelCluster *> candidates;
  bool isFragment = isa<FragmentOp>(block.getParentOp());
  const bool movesOnly = !tuning.keepsRows && repeatsElements(op);
  free.forEachRead(op, [&](Value value) {
    // A scalar is computed once, and read by the kernels that spread it: else
    // the step count would tie all updates together.
    if (isScalar(value) && !isScalar(op->getResult(0)))
      return;
    Operation *producer = value.getDefiningOp();
    KernelCluster *cluster = producer ? owner.lookup(producer) : nullptr;
    // Outside of fragments, a kernel of several phases, which run at different
    // times, would keep its inputs alive in between.
    if (cluster && !cluster->isAlone &&
        !(movesOnly && computesElements(*cluster)) &&
        (isFragment || getPhase(cluster->ops.front()) == getPhase(op)) &&
        !llvm::is_contained(candidates, cluster))
      candidates.push_back(cluster);
  });
  // What combines the numbers of several sums would tie these together, which
  // could share launches with others.
  if (tuning.sumsPerLaunch > 1 && getKind(op) == Kind::Update &&
      candidates.size() > 1 && isScalar(op->getResult(0)))
    llvm::erase_if(candidates, [](KernelCluster *candidate) {
      return llvm::any_of(candidate->ops, [](Operation *member) {
        return member->hasTrait<DropsDimensions>();
      });
    });
  int64_t others = 0;
  auto extends = [&](const RowOption &option) {
    return extendOption(option, op, free, tuning, others).has_value();
  };
  auto filter = [&](ArrayRef<RowOption> all) {
    return llvm::to_vector(llvm::make_filter_range(all, extends));
  };
  // The latest producers first: they are the likeliest to be read by op alone.
  // A cluster may be as long as the model is deep, so that the ways to divide
  // it are copied only where there is a second one.
  SmallVector<KernelCluster *> merged;
  SmallVector<RowOption> options; // of several clusters
  for (KernelCluster *candidate : llvm::reverse(candidates)) {
    SmallVector<KernelCluster *> attempt(merged);
    attempt.push_back(candidate);
    SmallVector<RowOption> trial;
    others = countElements(attempt);
    if (merged.size() == 1)
      options = filter(merged.front()->options);
    if (!merged.empty())
      trial = combine(options, candidate->options);
    if (llvm::none_of(merged.empty() ? candidate->options : trial, extends) ||
        !fits({attempt.begin(), attempt.end()}, op) || wouldCycle(attempt, op))
      continue;
    merged = std::move(attempt);
    options = filter(trial);
  }
  if (merged.empty())
    return false;
  KernelCluster *into = merged.front();
  for (KernelCluster *cluster : ArrayRef(merged).drop_front())
    absorb(*into, *cluster);
  if (merged.size() > 1)
    into->options = std::move(options);
  extendOptions(into->options, op, free, tuning, countElements(into));
  into->ops.insert(op);
  owner[op] = into;
  return true;
}

void KernelClusters::clusterOps() {
  for (Operation &op : block) {
    if (!isKernelOp(&op) || free.contains(&op) || owner.count(&op))
      continue;
    const bool isAlone = !tuning.keepsRows && readsManyForEach(&op);
    if (!isAlone && tryJoin(&op))
      continue;
    KernelCluster *cluster = createCluster(&op);
    cluster->options = startOptions(&op, free, tuning);
    cluster->isAlone = isAlone;
  }
  for (auto &cluster : clusters)
    llvm::stable_sort(cluster->options,
                      [&](const RowOption &a, const RowOption &b) {
                        return scoreOption(a, tuning) < scoreOption(b, tuning);
                      });
}

//===----------------------------------------------------------------------===//
// Recomputation
//===----------------------------------------------------------------------===//

/// The ways of `cluster` that still hold when it computes `op` too.
static SmallVector<RowOption> prependOptions(const KernelCluster &cluster,
                                             Operation *op,
                                             const FreeOps &free) {
  SmallVector<RowOption> kept;
  for (const RowOption &option : cluster.options) {
    // Every use inside must see the value alike; this layout is then its own.
    std::optional<RowLayout> seen;
    bool isConsistent = true;
    std::function<void(Operation *, const RowLayout &)> visit =
        [&](Operation *user, const RowLayout &layout) {
          auto operands = operandLayouts(user, layout);
          if (!operands) {
            isConsistent = false;
            return;
          }
          for (auto [operand, operandLayout] :
               llvm::zip_equal(user->getOperands(), *operands)) {
            Operation *producer = operand.getDefiningOp();
            if (producer == op) {
              isConsistent &= !seen || *seen == operandLayout;
              seen = operandLayout;
            } else if (producer && free.contains(producer)) {
              visit(producer, operandLayout);
            }
          }
        };
    for (auto &[value, layout] : option.layouts)
      visit(value.getDefiningOp(), layout);
    std::function<bool(Operation *, const RowLayout &)> holds =
        [&](Operation *user, const RowLayout &layout) {
          auto operands = operandLayouts(user, layout);
          if (!operands)
            return false;
          for (auto [operand, operandLayout] :
               llvm::zip_equal(user->getOperands(), *operands)) {
            Operation *producer = operand.getDefiningOp();
            if (producer && free.contains(producer) &&
                !holds(producer, operandLayout))
              return false;
          }
          return true;
        };
    if (!isConsistent || !seen || !holds(op, *seen))
      continue;
    kept.push_back(option);
    kept.back().layouts[op->getResult(0)] = *seen;
  }
  return kept;
}

/// True if `value` is in memory whatever is decided about `except`.
bool KernelClusters::isStored(Value value, const KernelCluster &except) const {
  Operation *producer = value.getDefiningOp();
  if (!producer || !isKernelOp(producer) || isReadOutside(producer))
    return true;
  KernelCluster *own = owner.lookup(producer);
  auto found = readers.find(value);
  return found != readers.end() &&
         llvm::any_of(found->second, [&](KernelCluster *reader) {
           return reader != &except && reader != own;
         });
}

/// Clones the producer of `input` into `cluster` if this saves memory traffic:
/// a value that is stored anyway is read, any other is written and read.
bool KernelClusters::recomputeInto(KernelCluster &cluster, Value input) {
  Operation *producer = input.getDefiningOp();
  if (!producer || producer->getBlock() != &block || !isCheapOp(producer) ||
      free.contains(producer))
    return false;
  if (cluster.isAlone || !owner.lookup(producer))
    return false;
  auto traffic = [&](Value value) {
    return storedBytes(value) * (isStored(value, cluster) ? 1 : 2);
  };
  double after = 0;
  free.forEachRead(producer, [&](Value value) {
    bool isOurs =
        value.getDefiningOp() && cluster.ops.contains(value.getDefiningOp());
    auto found = readers.find(value);
    bool isRead = found != readers.end() && found->second.contains(&cluster);
    if (!isOurs && !isRead)
      after += traffic(value);
  });
  if (after > traffic(input))
    return false;
  SmallVector<RowOption> options = prependOptions(cluster, producer, free);
  if (options.empty() || !fits(&cluster, producer))
    return false;
  cluster.options = std::move(options);
  SmallVector<Operation *> all(cluster.ops.begin(), cluster.ops.end());
  all.push_back(producer);
  llvm::sort(all,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  cluster.ops.clear();
  cluster.ops.insert(all.begin(), all.end());
  readers[input].erase(&cluster);
  for (Value value : inputsOf(cluster))
    readers[value].insert(&cluster);
  return true;
}

void KernelClusters::recomputeCheapOps() {
  for (auto &cluster : clusters)
    for (Value input : inputsOf(*cluster))
      readers[input].insert(cluster.get());
  for (auto &cluster : clusters) {
    if (cluster->ops.empty())
      continue;
    bool changed = true;
    while (changed)
      changed = llvm::any_of(inputsOf(*cluster), [&](Value input) {
        return recomputeInto(*cluster, input);
      });
  }
}

void KernelClusters::finish() {
  SmallVector<std::pair<KernelCluster *, Operation *>> work;
  auto need = [&](KernelCluster *cluster, Operation *op) {
    if (cluster->live.insert(op))
      work.push_back({cluster, op});
  };
  auto handOut = [&](Value value) {
    Operation *producer = value.getDefiningOp();
    KernelCluster *cluster = producer ? owner.lookup(producer) : nullptr;
    if (!cluster)
      return;
    cluster->outputs.insert(value);
    need(cluster, producer);
  };
  for (Operation &op : block)
    if (!isKernelOp(&op))
      op.walk([&](Operation *nested) {
        for (Value operand : nested->getOperands())
          handOut(operand);
      });
  while (!work.empty()) {
    auto [cluster, op] = work.pop_back_val();
    free.forEachRead(op, [&, cluster = cluster](Value value) {
      Operation *producer = value.getDefiningOp();
      if (producer && cluster->ops.contains(producer)) {
        need(cluster, producer);
        return;
      }
      cluster->inputs.insert(value);
      handOut(value);
    });
  }
  auto inBlockOrder = [](auto &set, auto before) {
    auto vector = set.takeVector();
    llvm::sort(vector, before);
    for (auto &entry : vector)
      set.insert(entry);
  };
  auto isEarlier = [](Value a, Value b) {
    auto argA = dyn_cast<BlockArgument>(a), argB = dyn_cast<BlockArgument>(b);
    if (argA && argB)
      return argA.getArgNumber() < argB.getArgNumber();
    if (argA || argB)
      return static_cast<bool>(argA);
    if (a.getDefiningOp() == b.getDefiningOp())
      return cast<OpResult>(a).getResultNumber() <
             cast<OpResult>(b).getResultNumber();
    return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
  };
  for (auto &cluster : clusters) {
    inBlockOrder(cluster->live, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    inBlockOrder(cluster->outputs, isEarlier);
    inBlockOrder(cluster->inputs, isEarlier);
  }
}
