//===- BucketCollectives.cpp - join small collectives ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes and leaves level 3. Calls that run once a step all wait for the end of
// the backward pass, so joining them delays none. Within a micro-batch, gathers
// and scatters for the parameters of one layer (pp.layer) are joined, since
// these are needed, and their gradients ready, close together; larger buckets
// would hold more than a plan that shards parameters or gradients allows.
// Gradients that it does not shard are held until the update, and wait for each
// other.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Builders.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
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

/// The attributes that calls must share to be joined: name, attributes except
/// dimensions, element type, and a layer.
using BucketKey = std::tuple<StringRef, Attribute, Type, int64_t>;
using Calls = SmallVector<Operation *>;

bool canBeJoined(Operation *op) {
  return isa<AllReduceOp, AllGatherOp, ReduceScatterOp>(op);
}

/// Calls without a layer.
constexpr int64_t kNoLayer = std::numeric_limits<int64_t>::max();

using Operations = llvm::DenseSet<Operation *>;

/// Ops that depend only on arguments of the fragment through elementwise ops,
/// such as converts of a parameter.
Operations findAtHand(Block &block) {
  Operations found;
  for (Operation &op : block)
    if (isa<ConstantOp>(op) ||
        (op.hasTrait<OpTrait::Elementwise>() &&
         llvm::all_of(op.getOperands(), [&](Value operand) {
           return !operand.getDefiningOp() ||
                  found.contains(operand.getDefiningOp());
         })))
      found.insert(&op);
  return found;
}

/// True if the result of `op` is only yielded, or read by ops that are `given`
/// away.
bool isGivenAway(Operation &op, const Operations &given) {
  return llvm::all_of(op.getUsers(), [&](Operation *user) {
    return isa<YieldOp>(user) || given.contains(user);
  });
}

BucketKey keyOf(Operation *op, int64_t layer) {
  NamedAttrList shared;
  for (StringRef name : {"reduction", "mesh", "axes", "stages"})
    if (Attribute value = op->getInherentAttr(name).value_or(Attribute()))
      shared.append(name, value);
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  return {op->getName().getStringRef(), shared.getDictionary(op->getContext()),
          type.getElementType(), layer};
}

int64_t bytesOf(Operation *op) {
  int64_t bytes = 0;
  for (auto values :
       {ValueRange(op->getOperands()), ValueRange(op->getResults())}) {
    int64_t side = 0;
    for (Value value : values)
      side += getTensorBytes(value.getType());
    bytes = std::max(bytes, side);
  }
  return bytes;
}

struct BucketCollectivesPass
    : pp::impl::BucketCollectivesBase<BucketCollectivesPass> {
  void runOnModule() override {
    auto found = lookupSplitMain(getOperation());
    auto plan = lookupPlan(getOperation());
    if (failed(found) || failed(plan))
      return signalPassFailure();
    main = *found;
    arguments = getArgsByName(main);
    bucketBytes = plan->getInt(PlanKey::Bucket);
    if (MeshAxisAttr axis = plan->getMesh().getStageAxis())
      stageAxis = axis.getName();
    for (auto fragment : main.getOps<FragmentOp>()) {
      Block &body = fragment.getBody().front();
      for (ArrayRef<Operation *> calls :
           chooseBuckets(body, isOncePerStep(fragment.getPhase())
                                   ? findCallsOfStep(body)
                                   : findCallsOfMicroBatch(body)))
        join(calls);
      sortTopologically(body);
    }
  }

private:
  using CallKeys = llvm::DenseMap<Operation *, BucketKey>;

  /// The layer of a parameter; each one without is a layer of its own.
  int64_t layerOf(StringAttr parameter) {
    if (!parameter)
      return kNoLayer;
    auto number = arguments.find(parameter.getValue());
    if (number == arguments.end())
      return kNoLayer;
    auto layer =
        main.getArgAttrOfType<IntegerAttr>(number->second, attrs::kLayer);
    return layer ? layer.getInt() : -1 - int64_t(number->second);
  }

  CallKeys findCallsOfStep(Block &block) const;
  CallKeys findCallsOfMicroBatch(Block &block);
  SmallVector<Calls> chooseBuckets(Block &block, const CallKeys &keys) const;
  /// Joins `calls` into as few as may be.
  void join(ArrayRef<Operation *> calls) const;
  void sortTopologically(Block &block) const;

  /// Members of a group over the stage axis run different fragments, which
  /// might be joined differently: such calls stay as they are, and in order.
  bool isOverStages(Operation *op) const {
    auto reduce = dyn_cast<AllReduceOp>(op);
    return reduce && llvm::is_contained(reduce.getAxes(), stageAxis);
  }
  /// By sum over stages: the one before it.
  llvm::DenseMap<Operation *, Operation *>
  findPreviousOverStages(Block &block) const {
    llvm::DenseMap<Operation *, Operation *> previous;
    Operation *last = nullptr;
    for (Operation &op : block.without_terminator())
      if (isOverStages(&op)) {
        previous[&op] = last;
        last = &op;
      }
    return previous;
  }

  func::FuncOp main;
  llvm::StringMap<unsigned> arguments;
  StringAttr stageAxis;
  int64_t bucketBytes = 0;
};

} // namespace

/// One call for all of `calls`.
static void joinAll(ArrayRef<Operation *> calls) {
  if (calls.size() < 2)
    return;
  Operation *place = calls.back();
  SmallVector<Value> operands;
  SmallVector<Type> types;
  SmallVector<Location> locations;
  SmallVector<int64_t> dimensions;
  for (Operation *call : calls) {
    llvm::append_range(operands, call->getOperands());
    llvm::append_range(types, call->getResultTypes());
    locations.push_back(call->getLoc());
    if (auto own = call->getAttrOfType<DenseI64ArrayAttr>("dimensions"))
      llvm::append_range(dimensions, own.asArrayRef());
  }
  OpBuilder builder(place);
  OperationState state(builder.getFusedLoc(locations), place->getName(),
                       operands, types, place->getAttrs());
  state.attributes.erase(attrs::kParameter);
  if (!dimensions.empty())
    state.attributes.set("dimensions",
                         builder.getDenseI64ArrayAttr(dimensions));
  Operation *joined = builder.create(state);
  unsigned next = 0;
  for (Operation *call : calls)
    for (Value result : call->getResults())
      result.replaceAllUsesWith(joined->getResult(next++));
  for (Operation *call : calls)
    call->erase();
}

void BucketCollectivesPass::join(ArrayRef<Operation *> calls) const {
  Calls bucket;
  int64_t bytes = 0;
  for (Operation *call : calls) {
    if (!bucket.empty() && bytes + bytesOf(call) > bucketBytes) {
      joinAll(bucket);
      bucket.clear();
      bytes = 0;
    }
    bucket.push_back(call);
    bytes += bytesOf(call);
  }
  joinAll(bucket);
}

//===----------------------------------------------------------------------===//
// Which calls may be joined
//===----------------------------------------------------------------------===//

BucketCollectivesPass::CallKeys
BucketCollectivesPass::findCallsOfStep(Block &block) const {
  CallKeys keys;
  for (Operation &op : block.without_terminator())
    if (canBeJoined(&op) && !isOverStages(&op))
      keys[&op] = keyOf(&op, kNoLayer);
  return keys;
}

/// Gathers of arguments of the fragment, and reductions of gradients that the
/// fragment yields, directly or through elementwise ops: no work waits between
/// them.
BucketCollectivesPass::CallKeys
BucketCollectivesPass::findCallsOfMicroBatch(Block &block) {
  CallKeys keys;
  const Operations atHand = findAtHand(block);
  Operations given;
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    const bool isGiven = isGivenAway(op, given);
    if (isGiven && op.hasTrait<OpTrait::Elementwise>())
      given.insert(&op);
    if (!canBeJoined(&op) || isOverStages(&op))
      continue;
    auto parameter = op.getAttrOfType<StringAttr>(attrs::kParameter);
    const bool isGather =
        parameter && llvm::all_of(op.getOperands(), [&](Value operand) {
          return !operand.getDefiningOp() ||
                 atHand.contains(operand.getDefiningOp());
        });
    const bool isGradient = isGiven && getKind(&op) == Kind::WeightGradient;
    if (isGradient)
      given.insert(&op);
    if (isGather || isGradient)
      keys[&op] = keyOf(&op, layerOf(parameter));
  }
  return keys;
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

/// Simulates the block: ops other than calls run as soon as their operands are
/// there, and calls wait until nothing else can run. Then all calls of one key,
/// if possible, go at once. So none waits for another of its bucket.
SmallVector<Calls>
BucketCollectivesPass::chooseBuckets(Block &block, const CallKeys &keys) const {
  llvm::DenseMap<Operation *, unsigned> missing;
  llvm::MapVector<BucketKey, unsigned> left;
  llvm::DenseMap<Operation *, Operation *> previous =
                                               findPreviousOverStages(block),
                                           next;
  for (auto [op, before] : previous)
    next[before] = op;
  SmallVector<Operation *> ready;
  for (Operation &op : block.without_terminator()) {
    unsigned count = previous.lookup(&op) != nullptr;
    for (Value operand : op.getOperands())
      count += operand.getDefiningOp() != nullptr;
    missing[&op] = count;
    if (auto key = keys.find(&op); key != keys.end())
      ++left[key->second];
    if (!count)
      ready.push_back(&op);
  }
  llvm::MapVector<BucketKey, Calls> waiting;
  auto provide = [&](Operation *user) {
    if (user != block.getTerminator() && --missing[user] == 0)
      ready.push_back(user);
  };
  auto complete = [&](Operation *op) {
    for (Operation *user : op->getUsers())
      provide(user);
    if (Operation *after = next.lookup(op))
      provide(after);
  };
  SmallVector<Calls> buckets;
  for (;;) {
    while (!ready.empty()) {
      Operation *op = ready.pop_back_val();
      if (auto key = keys.find(op); key != keys.end())
        waiting[key->second].push_back(op);
      else
        complete(op);
    }
    if (waiting.empty())
      return buckets;
    auto chosen = llvm::find_if(waiting, [&](const auto &entry) {
      return entry.second.size() == left.lookup(entry.first);
    });
    if (chosen == waiting.end())
      chosen = waiting.begin();
    Calls calls = std::move(chosen->second);
    left[chosen->first] -= calls.size();
    waiting.erase(chosen);
    llvm::sort(calls, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    for (Operation *call : calls)
      complete(call);
    buckets.push_back(std::move(calls));
  }
}

/// Users of a call that was joined further down move behind it, and a call that
/// could run earlier moves before its first user; the order is otherwise kept.
void BucketCollectivesPass::sortTopologically(Block &block) const {
  SmallVector<Operation *> order, originals;
  llvm::DenseSet<Operation *> done;
  for (Operation &op : block.without_terminator())
    originals.push_back(&op);
  llvm::DenseMap<Operation *, Operation *> previousOverStages =
      findPreviousOverStages(block);
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
