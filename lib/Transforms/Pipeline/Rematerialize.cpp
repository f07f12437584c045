//===- Rematerialize.cpp - compute again what is not kept -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: level 3, with a mark (pp.keep) on the forward ops whose results are kept
// for backward. Out: backward fragments read those and what memory holds
// anyway, and compute the rest again, each value right before it is first read,
// so that it lives no longer than it must.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/IRMapping.h"
#include "pp/IR/Model.h"
#include "pp/Planner/ResidualGraph.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_REMATERIALIZE
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// One backward fragment that reads values of one forward fragment.
class Rematerializer {
public:
  Rematerializer(FragmentOp forward, FragmentOp backward)
      : forward(forward), backward(backward), body(&forward.getBody().front()),
        yield(cast<YieldOp>(body->getTerminator())) {}

  LogicalResult run();

private:
  Value atYield(Value operand) {
    return yield.getOperand(cast<OpResult>(operand).getResultNumber());
  }
  /// The kept values that backward needs, in the order of the forward fragment.
  FailureOr<SmallVector<Value>> findKept();
  void extendForward(ArrayRef<Value> kept);
  void rebuildBackward(ArrayRef<Value> kept);
  Value recompute(OpBuilder &builder, Value value, IRMapping &mapping);
  /// Backward may gather by itself what it now gathers to compute again.
  void mergeGathers();

  FragmentOp forward, backward;
  Block *body;
  YieldOp yield;
  bool hasRepeatedGather = false;
};

FailureOr<SmallVector<Value>> Rematerializer::findKept() {
  SmallVector<Value> work, kept;
  DenseSet<Value> seen;
  auto visit = [&](Value value) {
    if (seen.insert(value).second)
      work.push_back(value);
  };
  for (Value operand : backward.getOperands())
    if (operand.getDefiningOp() == forward.getOperation())
      visit(atYield(operand));
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op) {
      if (!isHeldAnyway(
              forward.getOperand(cast<BlockArgument>(value).getArgNumber())))
        kept.push_back(value);
    } else if (op->hasAttr(attrs::kKeep)) {
      kept.push_back(value);
    } else if (canRepeat(op)) {
      llvm::for_each(op->getOperands(), visit);
    } else {
      return op->emitOpError("expects pp.keep, since backward needs its result "
                             "and it cannot run again; pp-choose-residuals "
                             "marks it");
    }
  }
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
void Rematerializer::extendForward(ArrayRef<Value> kept) {
  SmallVector<Value> yielded(yield.getOperands());
  DenseSet<Value> known(yielded.begin(), yielded.end());
  for (Value value : kept)
    if (!isa<BlockArgument>(value) && known.insert(value).second)
      yielded.push_back(value);
  if (yielded.size() == yield.getNumOperands())
    return;
  OpBuilder builder(forward);
  auto longer = FragmentOp::create(
      builder, forward.getLoc(), ValueRange(yielded).getTypes(),
      forward.getPhase(), forward.getStageOrPosition(), forward.getHolder(),
      forward.getOperands());
  longer.getBody().takeBody(forward.getBody());
  yield->setOperands(yielded);
  forward->replaceAllUsesWith(
      longer->getResults().take_front(forward->getNumResults()));
  forward->erase();
  forward = longer;
}

Value Rematerializer::recompute(OpBuilder &builder, Value value,
                                IRMapping &mapping) {
  // An op is cloned once its operands are; each has a next one to look at.
  SmallVector<std::pair<Operation *, unsigned>> work;
  auto visit = [&](Value wanted) {
    if (!mapping.contains(wanted))
      work.push_back({wanted.getDefiningOp(), 0});
  };
  visit(value);
  while (!work.empty()) {
    auto &[op, operand] = work.back();
    if (operand < op->getNumOperands()) {
      visit(op->getOperand(operand++));
      continue;
    }
    hasRepeatedGather |= isa<AllGatherOp>(op);
    setKind(builder.clone(*op, mapping), Kind::InputGradient);
    work.pop_back();
  }
  return mapping.lookup(value);
}

void Rematerializer::rebuildBackward(ArrayRef<Value> kept) {
  Block &block = backward.getBody().front();
  // Values of the forward body as @main sees them.
  DenseMap<Value, Value> outside;
  for (auto [value, result] :
       llvm::zip_equal(yield.getOperands(), forward.getResults()))
    outside[value] = result;
  for (auto [argument, operand] :
       llvm::zip_equal(body->getArguments(), forward.getOperands()))
    outside[argument] = operand;
  llvm::SetVector<Value> operands;
  for (Value operand : backward.getOperands())
    if (operand.getDefiningOp() != forward.getOperation())
      operands.insert(operand);
  for (Value value : kept)
    operands.insert(outside.at(value));
  // Arguments that recomputation reads; unused ones are dropped below.
  for (Value operand : forward.getOperands())
    if (isHeldAnyway(operand))
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
    mapping.map(value, inner.lookup(outside.at(value)));
  for (auto [operand, argument] :
       llvm::zip_equal(forward.getOperands(), body->getArguments()))
    if (isHeldAnyway(operand) && !mapping.contains(argument))
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

void Rematerializer::mergeGathers() {
  SmallVector<AllGatherOp> earlier;
  for (AllGatherOp gather : llvm::make_early_inc_range(
           backward.getBody().front().getOps<AllGatherOp>())) {
    auto isSame = [&](AllGatherOp other) {
      return other->getOperands() == gather->getOperands() &&
             other.getDimensionsAttr() == gather.getDimensionsAttr() &&
             other.getAxesAttr() == gather.getAxesAttr();
    };
    auto same = llvm::find_if(earlier, isSame);
    if (same == earlier.end()) {
      earlier.push_back(gather);
      continue;
    }
    gather->replaceAllUsesWith(same->getResults());
    gather->erase();
  }
}

LogicalResult Rematerializer::run() {
  auto kept = findKept();
  if (failed(kept))
    return failure();
  extendForward(*kept);
  rebuildBackward(*kept);
  if (hasRepeatedGather)
    mergeGathers();
  return success();
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
      fragment.getPhase(), fragment.getStageOrPosition(), fragment.getHolder(),
      fragment.getOperands());
  shorter.getBody().takeBody(fragment.getBody());
  yield->setOperands(yielded);
  for (auto [result, value] : llvm::zip_equal(used, shorter.getResults()))
    result.replaceAllUsesWith(value);
  fragment->erase();
}

struct RematerializePass : pp::impl::RematerializeBase<RematerializePass> {
  void runOnModule() override {
    auto main = lookupSplitMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    // A forward fragment may be replaced by one that yields more: it is found
    // by its stage.
    SmallVector<std::pair<int64_t, FragmentOp>> pairs;
    for (auto [forward, backward] : findResidualPairs(*main))
      pairs.push_back({*forward.getStage(), backward});
    for (auto [stage, backward] : pairs) {
      auto fragments = main->getOps<FragmentOp>();
      auto forward =
          llvm::find_if(fragments, [stage = stage](FragmentOp fragment) {
            return fragment.getPhase() == Phase::Forward &&
                   int64_t(*fragment.getStage()) == stage;
          });
      if (failed(Rematerializer(*forward, backward).run()))
        return signalPassFailure();
    }
    for (FragmentOp fragment : llvm::to_vector(main->getOps<FragmentOp>()))
      if (fragment.getPhase() == Phase::Forward)
        dropUnusedResults(fragment);
    main->walk([](Operation *op) {
      op->removeAttr(attrs::kKeep);
      op->removeAttr(attrs::kCheckpoint);
    });
  }
};

} // namespace
