//===- TrimResiduals.cpp - keep less from forward to backward -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In and out: level 3. Backward fragments need values of forward ones. Which of
// them are kept, and which are recomputed from those, is a minimum cut: a node
// per value of the forward fragment, between the values that cannot be
// recomputed (contractions, reductions, gathers, collectives, received values)
// and the values that the backward fragment reads. A node's price is its bytes,
// twice those if only keeping it brings it to memory. Values in memory that a
// contraction will read again are kept for nothing, because recomputing would
// write them again; so are arguments. A value that would be recomputed from the
// same value of the layer before is kept, too: otherwise the first layer's
// backward work would be that of all layers, at once.
//
//===----------------------------------------------------------------------===//
#include "MinCut.h"
#include "mlir/IR/IRMapping.h"
#include "pp/Analysis/Contraction.h"
#include "pp/Analysis/StridedView.h"
#include "pp/IR/Kernel.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_TRIMRESIDUALS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// Local, and reads no more than it writes: views, counters, elementwise ops.
bool canRepeat(Operation *op) {
  const bool isMove =
      op->hasTrait<MovesElements>() && !op->hasTrait<UpdatesOperand>();
  return op->hasTrait<OpTrait::Elementwise>() || isMove ||
         isa<ConstantOp, IotaOp, AxisIndexOp, RandomBitsOp, AllSliceOp>(op);
}

/// True for ops that run separately, from memory to memory.
bool readsMemory(Operation *op) {
  return isContraction(op) ||
         (!isGraphOp(op) && !isa<AxisIndexOp, YieldOp>(op));
}

/// The values that one backward fragment reads of one forward fragment.
class ResidualTrimmer {
public:
  ResidualTrimmer(FragmentOp forward, FragmentOp backward)
      : forward(forward), backward(backward), body(&forward.getBody().front()),
        yield(cast<YieldOp>(body->getTerminator())) {}

  void run();

private:
  Value atYield(Value operand) {
    return yield.getOperand(cast<OpResult>(operand).getResultNumber());
  }
  /// Finds the values of the forward fragment that memory holds in any case:
  /// operands and results of contractions and collectives, and values with
  /// readers elsewhere.
  void findStored();
  void addContraction(Operation *product);
  /// How many computations from memory to memory lead to each value.
  void findDepths();
  /// Calls `visit` for the readers of `value`, looking through views.
  void forEachReader(Value value, function_ref<void(Operation *)> visit);
  /// Whether memory has to hold `value` while something reads and writes
  /// memory, since it is read both before that and, with its result, behind it.
  bool isHeldOver(Value value);
  /// Whether `value` would be computed again from another one held over.
  bool isChained(Value value);
  /// The value in memory that `value` is a view of.
  Value baseOf(Value value);
  /// Finds those of them that the backward fragment reads from memory again.
  void findReread();
  bool isArgument(Value value);
  int64_t priceOf(Value value);
  unsigned addNode(Value value);
  /// The values to keep, in the order of the forward fragment.
  SmallVector<Value> chooseKept();
  void extendForward(ArrayRef<Value> kept);
  void rebuildBackward(ArrayRef<Value> kept);
  Value recompute(OpBuilder &builder, Value value, IRMapping &mapping);
  Value valueOutside(Value value);

  FragmentOp forward, backward;
  Block *body;
  YieldOp yield;
  DenseSet<Value> stored, reread, heldOver;
  DenseMap<Value, unsigned> depths; ///< of what depends on arguments
  DenseMap<Value, bool> chained;
  NodeCut graph;
  llvm::MapVector<Value, unsigned> nodes;
};

Value ResidualTrimmer::baseOf(Value value) {
  while (!stored.contains(value) && isViewOp(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// The contraction writes its results after all its epilogues
/// (FormContractions.cpp).
void ResidualTrimmer::addContraction(Operation *product) {
  Value value = product->getResult(0);
  while (value.hasOneUse()) {
    Operation *op = *value.user_begin();
    if (!isTakenAlong(op, value))
      break;
    for (Value operand : op->getOperands())
      if (operand != value)
        stored.insert(baseOf(operand));
    value = op->getResult(0);
  }
  stored.insert(value);
}

void ResidualTrimmer::findStored() {
  for (Operation &op : body->without_terminator()) {
    if (!readsMemory(&op))
      continue;
    for (Value operand : op.getOperands())
      stored.insert(baseOf(operand));
    if (isContraction(&op))
      addContraction(&op);
    else
      stored.insert(op.result_begin(), op.result_end());
  }
  for (auto [result, value] :
       llvm::zip_equal(forward.getResults(), yield.getOperands()))
    if (llvm::any_of(result.getUsers(),
                     [&](Operation *user) { return user != backward; }))
      stored.insert(value);
  stored.insert(body->args_begin(), body->args_end());
  findDepths();
  for (Operation &op : body->without_terminator())
    if (canRepeat(&op) && isHeldOver(op.getResult(0)))
      heldOver.insert(op.getResult(0));
  stored.insert(heldOver.begin(), heldOver.end());
}

void ResidualTrimmer::findDepths() {
  for (BlockArgument argument : body->getArguments())
    depths[argument] = 0;
  for (Operation &op : body->without_terminator()) {
    std::optional<unsigned> depth;
    for (Value operand : op.getOperands())
      if (auto found = depths.find(operand); found != depths.end())
        depth = std::max(depth.value_or(0), found->second);
    if (depth)
      for (Value result : op.getResults())
        depths[result] = *depth + (readsMemory(&op) ? 1 : 0);
  }
}

void ResidualTrimmer::forEachReader(Value value,
                                    function_ref<void(Operation *)> visit) {
  for (Operation *user : value.getUsers())
    if (isViewOp(user))
      forEachReader(user->getResult(0), visit);
    else
      visit(user);
}

bool ResidualTrimmer::isHeldOver(Value value) {
  auto depth = depths.find(value);
  if (depth == depths.end() || isViewOp(value.getDefiningOp()))
    return false;
  bool isReadHere = stored.contains(value), isReadLater = false;
  forEachReader(value, [&](Operation *reader) {
    if (readsMemory(reader) || reader->getNumResults() == 0)
      return;
    const bool isHere = depths.lookup(reader->getResult(0)) == depth->second;
    (isHere ? isReadHere : isReadLater) = true;
  });
  return isReadHere && isReadLater;
}

bool ResidualTrimmer::isChained(Value value) {
  if (auto known = chained.find(value); known != chained.end())
    return known->second;
  const bool result =
      llvm::any_of(value.getDefiningOp()->getOperands(), [&](Value operand) {
        Operation *op = operand.getDefiningOp();
        return heldOver.contains(operand) ||
               (op && canRepeat(op) && isChained(operand));
      });
  return chained[value] = result;
}

void ResidualTrimmer::findReread() {
  Block &block = backward.getBody().front();
  for (auto [operand, argument] :
       llvm::zip_equal(backward.getOperands(), block.getArguments())) {
    if (operand.getDefiningOp() != forward.getOperation())
      continue;
    Value base = baseOf(atYield(operand));
    SmallVector<Value> views{argument};
    bool isRead = false;
    while (!views.empty())
      for (Operation *user : views.pop_back_val().getUsers()) {
        isRead |= readsMemory(user);
        if (isViewOp(user))
          views.push_back(user->getResult(0));
      }
    if (isRead && stored.contains(base))
      reread.insert(base);
  }
}

/// An argument of @main, or a result of a prologue: held in any case.
static bool isHeld(Value operand) {
  auto source = operand.getDefiningOp<FragmentOp>();
  return isa<BlockArgument>(operand) ||
         (source && source.getPhase() == Phase::Prologue);
}

bool ResidualTrimmer::isArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isHeld(forward.getOperand(argument.getArgNumber()));
}

int64_t ResidualTrimmer::priceOf(Value value) {
  if (reread.contains(value))
    return 0;
  return getTensorBytes(value.getType()) * (stored.contains(value) ? 1 : 2);
}

unsigned ResidualTrimmer::addNode(Value value) {
  auto known = nodes.find(value);
  if (known != nodes.end())
    return known->second;
  unsigned node = graph.addNode(priceOf(value));
  nodes.insert({value, node});
  Operation *op = value.getDefiningOp();
  if (!op || !canRepeat(op) || (heldOver.contains(value) && isChained(value))) {
    graph.markSource(node);
    return node;
  }
  for (Value operand : op->getOperands())
    if (!isArgument(operand))
      graph.addEdge(addNode(operand), node);
  return node;
}

SmallVector<Value> ResidualTrimmer::chooseKept() {
  for (Value operand : backward.getOperands())
    if (operand.getDefiningOp() == forward.getOperation())
      graph.markSink(addNode(atYield(operand)));
  SmallVector<Value> kept, values;
  for (auto &[value, node] : nodes)
    values.push_back(value);
  for (unsigned node : graph.solve())
    kept.push_back(values[node]);
  llvm::sort(kept, [](Value a, Value b) {
    Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
    if (!left || !right)
      return !left && (right || cast<BlockArgument>(a).getArgNumber() <
                                    cast<BlockArgument>(b).getArgNumber());
    if (left == right)
      return cast<OpResult>(a).getResultNumber() <
             cast<OpResult>(b).getResultNumber();
    return left->isBeforeInBlock(right);
  });
  return kept;
}

/// Makes the forward fragment yield the kept values.
void ResidualTrimmer::extendForward(ArrayRef<Value> kept) {
  SmallVector<Value> yielded(yield.getOperands());
  for (Value value : kept)
    if (!isa<BlockArgument>(value) && !llvm::is_contained(yielded, value))
      yielded.push_back(value);
  if (yielded.size() == yield.getNumOperands())
    return;
  OpBuilder builder(forward);
  auto longer = FragmentOp::create(
      builder, forward.getLoc(), ValueRange(yielded).getTypes(),
      forward.getPhase(), forward.getStage(), forward.getOperands());
  longer.getBody().takeBody(forward.getBody());
  yield->setOperands(yielded);
  forward->replaceAllUsesWith(
      longer->getResults().take_front(forward->getNumResults()));
  forward->erase();
  forward = longer;
}

/// A kept value as @main sees it.
Value ResidualTrimmer::valueOutside(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return forward.getOperand(argument.getArgNumber());
  for (auto [index, yielded] : llvm::enumerate(yield.getOperands()))
    if (yielded == value)
      return forward.getResult(index);
  llvm_unreachable("the forward fragment yields what is kept");
}

Value ResidualTrimmer::recompute(OpBuilder &builder, Value value,
                                 IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    recompute(builder, operand, mapping);
  setKind(builder.clone(*op, mapping), Kind::InputGradient);
  return mapping.lookup(value);
}

void ResidualTrimmer::rebuildBackward(ArrayRef<Value> kept) {
  Block &block = backward.getBody().front();
  llvm::SetVector<Value> operands;
  for (Value operand : backward.getOperands())
    if (operand.getDefiningOp() != forward.getOperation())
      operands.insert(operand);
  for (Value value : kept)
    operands.insert(valueOutside(value));
  // Arguments that recomputation reads; unused ones are dropped below.
  for (Value operand : forward.getOperands())
    if (isHeld(operand))
      operands.insert(operand);

  IRMapping inner; // values of @main, then those of the forward body
  DenseMap<Value, Value> old;
  for (auto [operand, argument] :
       llvm::zip_equal(backward.getOperands(), block.getArguments()))
    old[operand] = argument;
  unsigned numOld = block.getNumArguments();
  for (Value operand : operands)
    inner.map(operand, block.addArgument(operand.getType(), operand.getLoc()));
  IRMapping mapping;
  for (Value value : kept)
    mapping.map(value, inner.lookup(valueOutside(value)));
  for (auto [operand, argument] :
       llvm::zip_equal(forward.getOperands(), body->getArguments()))
    if (isHeld(operand) && !mapping.contains(argument))
      mapping.map(argument, inner.lookup(operand));

  // Each where it is first read, so that it lives no longer than it must.
  SmallVector<std::pair<Operation *, Value>> firstReads;
  for (auto [operand, argument] : llvm::zip_equal(
           backward.getOperands(), block.getArguments().take_front(numOld))) {
    if (operand.getDefiningOp() != forward.getOperation()) {
      argument.replaceAllUsesWith(inner.lookup(operand));
      continue;
    }
    Operation *first = block.getTerminator();
    for (Operation *user : argument.getUsers())
      if (user->isBeforeInBlock(first))
        first = user;
    firstReads.push_back({first, operand});
  }
  llvm::stable_sort(firstReads, [](auto &a, auto &b) {
    return a.first->isBeforeInBlock(b.first);
  });
  for (auto [first, operand] : firstReads) {
    OpBuilder builder(first);
    old[operand].replaceAllUsesWith(
        recompute(builder, atYield(operand), mapping));
  }
  block.eraseArguments(0, numOld);
  llvm::BitVector unused(block.getNumArguments());
  SmallVector<Value> used;
  for (auto [operand, argument] :
       llvm::zip_equal(operands, block.getArguments()))
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
    else
      used.push_back(operand);
  block.eraseArguments(unused);
  backward->setOperands(used);
}

void ResidualTrimmer::run() {
  findStored();
  findReread();
  SmallVector<Value> kept = chooseKept();
  extendForward(kept);
  rebuildBackward(kept);
}

/// Drops unused results of a fragment, and the ops behind them.
void dropUnusedResults(FragmentOp fragment) {
  Block &body = fragment.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  SmallVector<Value> used, yielded;
  for (auto [result, value] :
       llvm::zip_equal(fragment.getResults(), yield.getOperands()))
    if (!result.use_empty()) {
      used.push_back(result);
      yielded.push_back(value);
    }
  if (used.size() == fragment.getNumResults())
    return;
  OpBuilder builder(fragment);
  auto shorter = FragmentOp::create(
      builder, fragment.getLoc(), ValueRange(yielded).getTypes(),
      fragment.getPhase(), fragment.getStage(), fragment.getOperands());
  shorter.getBody().takeBody(fragment.getBody());
  yield->setOperands(yielded);
  for (auto [result, value] : llvm::zip_equal(used, shorter.getResults()))
    result.replaceAllUsesWith(value);
  fragment->erase();
}

struct TrimResidualsPass : pp::impl::TrimResidualsBase<TrimResidualsPass> {
  void runOnModule() override {
    auto main = lookupSplitMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    auto fragments = [&](Phase phase) {
      return llvm::to_vector(llvm::make_filter_range(
          main->getOps<FragmentOp>(),
          [&](FragmentOp op) { return op.getPhase() == phase; }));
    };
    for (FragmentOp backward : fragments(Phase::Backward))
      for (FragmentOp forward : fragments(Phase::Forward))
        if (llvm::any_of(backward.getOperands(), [&](Value operand) {
              return operand.getDefiningOp() == forward.getOperation();
            }))
          ResidualTrimmer(forward, backward).run();
    for (FragmentOp forward : fragments(Phase::Forward))
      dropUnusedResults(forward);
  }
};

} // namespace
