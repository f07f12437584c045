//===- OptimizeCollectives.cpp - fewer and smaller collectives ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In and out: level 2. Every device runs the same function, so all members of a
// collective see each rewrite. Five rewrites: an unused collective is removed;
// of two equal ones on the same value, within a part of the step, the second is
// removed; a reduction of which only this device's slice is used becomes a
// reduce_scatter, and a broadcast makes only that slice; a gather beside
// elementwise ops moves to where the fewest bytes are gathered, which may be
// one for several. A sum of partial values needs no rewrite: the partitioner
// reduces the sum.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_OPTIMIZECOLLECTIVES
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

/// Ops that change the layout of a value, whether or not anything is sent.
static bool isReshard(Operation &op) {
  return isCollective(&op) || isa<AllSliceOp>(op);
}

static SmallVector<Operation *> collectReshards(Block &body) {
  SmallVector<Operation *> reshards;
  for (Operation &op : body)
    if (isReshard(op))
      reshards.push_back(&op);
  return reshards;
}

/// Erases collectives without uses, last first so that chains go at once.
static void eraseUnused(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isReshard(op) && op.use_empty())
      op.erase();
}

static bool areOfOnePart(Operation *a, Operation *b) {
  return getPhase(a) == getPhase(b) && getStages(a) == getStages(b);
}

/// Lets later collectives use the results of equal earlier ones.
static void shareEqual(ArrayRef<Operation *> reshards) {
  DenseMap<Value, SmallVector<Operation *, 2>> byOperand;
  for (Operation *op : reshards) {
    if (op->getNumOperands() != 1)
      continue;
    SmallVector<Operation *, 2> &earlier = byOperand[op->getOperand(0)];
    auto isEqual = [&](Operation *other) {
      return other->getName() == op->getName() &&
             other->getResultTypes() == op->getResultTypes() &&
             areOfOnePart(other, op) &&
             other->getPropertiesAsAttribute() ==
                 op->getPropertiesAsAttribute();
    };
    auto found = llvm::find_if(earlier, isEqual);
    if (found == earlier.end()) {
      earlier.push_back(op);
      continue;
    }
    op->replaceAllUsesWith(*found);
    op->erase();
  }
}

/// all_slice(all_reduce(x)) over the same axes -> reduce_scatter(x)
static void formReduceScatters(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto slice = dyn_cast<AllSliceOp>(op);
    auto reduce =
        slice ? slice.getOperand().getDefiningOp<AllReduceOp>() : AllReduceOp();
    if (!reduce || reduce.getNumOperands() != 1 || reduce.getStages() ||
        !reduce->hasOneUse() || reduce.getAxes() != slice.getAxes())
      continue;
    OpBuilder builder(slice);
    auto scatter = ReduceScatterOp::create(
        builder, builder.getFusedLoc({reduce.getLoc(), slice.getLoc()}),
        TypeRange(slice.getType()), reduce.getReductionAttr(),
        reduce.getOperands(),
        builder.getDenseI64ArrayAttr(slice.getDimension()), slice.getMeshAttr(),
        slice.getAxes());
    scatter->setDiscardableAttrs(reduce->getDiscardableAttrDictionary());
    slice.replaceAllUsesWith(scatter.getResult(0));
    slice.erase();
    reduce.erase();
  }
}

/// all_slice(broadcast(x)) -> broadcast(x), or broadcast(all_slice(x)): makes
/// only the part that is kept.
static void cutBroadcasts(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto slice = dyn_cast<AllSliceOp>(op);
    auto broadcast =
        slice ? slice.getOperand().getDefiningOp<BroadcastOp>() : BroadcastOp();
    if (!broadcast)
      continue;
    OpBuilder builder(slice);
    Value operand = broadcast.getOperand();
    ArrayRef<int64_t> dims = broadcast.getDimensions();
    if (const int64_t *found = llvm::find(dims, slice.getDimension());
        found != dims.end()) {
      const int64_t dim = found - dims.begin();
      auto type = cast<RankedTensorType>(operand.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape[dim] = slice.getType().getDimSize(slice.getDimension());
      auto part = AllSliceOp::create(builder, slice.getLoc(), type.clone(shape),
                                     operand, builder.getI64IntegerAttr(dim),
                                     slice.getMeshAttr(), slice.getAxesAttr());
      part->setDiscardableAttrs(slice->getDiscardableAttrDictionary());
      operand = part;
    }
    auto cut = BroadcastOp::create(builder, broadcast.getLoc(), slice.getType(),
                                   operand, broadcast.getDimensionsAttr());
    cut->setDiscardableAttrs(slice->getDiscardableAttrDictionary());
    slice.replaceAllUsesWith(cut.getResult());
    slice.erase();
    if (broadcast->use_empty())
      broadcast.erase();
  }
}

//===----------------------------------------------------------------------===//
// Gathers beside elementwise ops
//===----------------------------------------------------------------------===//

/// The gather of one value that only `user` uses, in its part of the step.
static AllGatherOp getOwnGather(Value value, Operation *user) {
  auto gather = value.getDefiningOp<AllGatherOp>();
  return gather && gather->getNumOperands() == 1 &&
                 llvm::all_of(gather->getUsers(),
                              [&](Operation *op) { return op == user; }) &&
                 areOfOnePart(gather, user)
             ? gather
             : AllGatherOp();
}

/// A value that is one number everywhere.
static bool isUniform(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  return (constant && isa<SplatElementsAttr>(constant.getValue())) ||
         (broadcast &&
          cast<RankedTensorType>(broadcast.getOperand().getType()).getRank() ==
              0);
}

/// The gathers of an elementwise op's operands, if they are all alike and no
/// operand else differs from place to place.
static SmallVector<AllGatherOp> getGathersOf(Operation &op) {
  llvm::SmallSetVector<AllGatherOp, 2> gathers;
  if (!op.hasTrait<OpTrait::Elementwise>() || op.getNumResults() != 1)
    return {};
  for (Value operand : op.getOperands()) {
    AllGatherOp gather = getOwnGather(operand, &op);
    if (gather)
      gathers.insert(gather);
    else if (!isUniform(operand))
      return {};
  }
  for (AllGatherOp gather : gathers)
    if (gather->getPropertiesAsAttribute() !=
        gathers.front()->getPropertiesAsAttribute())
      return {};
  return llvm::to_vector(gathers);
}

static int64_t elementBytes(Value value) {
  return std::max<unsigned>(
      1, cast<RankedTensorType>(value.getType()).getElementTypeBitWidth() / 8);
}

static int64_t bytesOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements() *
         elementBytes(value);
}

/// The fewest bytes an element has in `value` or behind ops on it alone.
static int64_t fewestBytesBelow(Value value) {
  int64_t fewest = elementBytes(value);
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (!user->hasTrait<OpTrait::Elementwise>() || user->getNumOperands() != 1)
      break;
    value = user->getResult(0);
    fewest = std::min(fewest, elementBytes(value));
  }
  return fewest;
}

/// op(all_gather(x), all_gather(y)) -> all_gather(op(x, y)), where x and y have
/// more bytes than the result, or than later results.
static void sinkGathers(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    SmallVector<AllGatherOp> gathers = getGathersOf(op);
    if (gathers.empty())
      continue;
    int64_t bytes = 0;
    for (AllGatherOp gather : gathers)
      bytes += elementBytes(gather.getOperand(0));
    if (fewestBytesBelow(op.getResult(0)) >= bytes)
      continue;
    AllGatherOp gather = gathers.front();
    auto local = cast<RankedTensorType>(gather.getOperand(0).getType());
    auto localOf = [&](Type type) {
      return cast<RankedTensorType>(type).clone(local.getShape());
    };
    OpBuilder builder(&op);
    for (OpOperand &operand : op.getOpOperands()) {
      if (auto own = operand.get().getDefiningOp<AllGatherOp>()) {
        operand.set(own.getOperand(0));
        continue;
      }
      Operation *uniform = builder.clone(*operand.get().getDefiningOp());
      auto type = localOf(operand.get().getType());
      uniform->getResult(0).setType(type);
      if (auto constant = dyn_cast<ConstantOp>(uniform))
        constant.setValueAttr(
            cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type));
      operand.set(uniform->getResult(0));
    }
    Value result = op.getResult(0);
    Type whole = result.getType();
    result.setType(localOf(whole));
    builder.setInsertionPointAfter(&op);
    auto moved = AllGatherOp::create(
        builder, gather.getLoc(), TypeRange(whole), ValueRange(result),
        gather.getDimensionsAttr(), gather.getMeshAttr(), gather.getAxesAttr());
    moved->setDiscardableAttrs(gather->getDiscardableAttrDictionary());
    result.replaceAllUsesExcept(moved.getResult(0), moved);
    for (AllGatherOp old : gathers)
      old->erase();
  }
}

/// all_gather(op(x)) -> op(all_gather(x)), where x has fewer bytes.
static void hoistGathers(Block &body) {
  for (Operation &each : llvm::make_early_inc_range(body)) {
    auto gather = dyn_cast<AllGatherOp>(each);
    while (gather && gather->getNumOperands() == 1) {
      Operation *op = gather.getOperand(0).getDefiningOp();
      if (!op || !op->hasTrait<OpTrait::Elementwise>() ||
          op->getNumOperands() != 1 || !op->hasOneUse() ||
          !areOfOnePart(gather, op) ||
          elementBytes(op->getOperand(0)) >= elementBytes(op->getResult(0)))
        break;
      Value narrow = op->getOperand(0);
      auto wide = cast<RankedTensorType>(gather.getType(0));
      auto type =
          cast<RankedTensorType>(narrow.getType()).clone(wide.getShape());
      gather.getResult(0).replaceAllUsesWith(op->getResult(0));
      gather->setOperand(0, narrow);
      gather.getResult(0).setType(type);
      op->setOperand(0, gather.getResult(0));
      op->getResult(0).setType(wide);
      op->moveAfter(gather);
    }
  }
}

namespace {

/// all_gather(op(x, broadcast(y))), where y is small.
struct ScaledGather {
  AllGatherOp gather;
  Operation *op;
  unsigned index; ///< of x

  BroadcastOp getSmall() const {
    return op->getOperand(1 - index).getDefiningOp<BroadcastOp>();
  }
};

} // namespace

/// The same for each operand of `gather`'s operand that x may be.
static void appendScaled(AllGatherOp gather,
                         SmallVectorImpl<ScaledGather> &found) {
  Operation *op = gather.getOperand(0).getDefiningOp();
  if (!op || !op->hasTrait<OpTrait::Elementwise>() ||
      op->getNumOperands() != 2 || !areOfOnePart(gather, op))
    return;
  for (unsigned index : {0u, 1u})
    if (op->getOperand(1 - index).getDefiningOp<BroadcastOp>())
      found.push_back({gather, op, index});
}

/// all_gather(op(x, broadcast(y))), all_gather(op(x, broadcast(z))) -> op(g,
/// broadcast(all_gather(y))), op(g, broadcast(all_gather(z))) with g =
/// all_gather(x): the differing parts are small, and the rest travels once.
static void shareScaled(ArrayRef<Operation *> reshards) {
  llvm::MapVector<Value, SmallVector<ScaledGather, 2>> byValue;
  for (Operation *reshard : reshards) {
    auto gather = dyn_cast<AllGatherOp>(reshard);
    if (!gather || gather->getNumOperands() != 1)
      continue;
    SmallVector<ScaledGather, 2> scaled;
    appendScaled(gather, scaled);
    for (const ScaledGather &one : scaled)
      byValue[one.op->getOperand(one.index)].push_back(one);
  }
  for (auto &[value, all] : byValue) {
    llvm::erase_if(
        all, [](const ScaledGather &one) { return one.gather->use_empty(); });
    if (all.empty())
      continue;
    AllGatherOp first = all.front().gather;
    llvm::erase_if(all, [&](const ScaledGather &one) {
      return !areOfOnePart(one.gather, first) ||
             one.gather->getPropertiesAsAttribute() !=
                 first->getPropertiesAsAttribute();
    });
    int64_t before = 0, after = bytesOf(value);
    for (ScaledGather &one : all) {
      before += bytesOf(one.gather.getOperand(0));
      after += bytesOf(one.getSmall().getOperand());
    }
    if (after >= before)
      continue;
    auto gatherAt = [](OpBuilder &builder, AllGatherOp like, Value operand,
                       int64_t dim, int64_t size) -> Value {
      auto type = cast<RankedTensorType>(operand.getType());
      SmallVector<int64_t> shape(type.getShape());
      shape[dim] = size;
      auto gather = AllGatherOp::create(
          builder, like.getLoc(), TypeRange(type.clone(shape)),
          ValueRange(operand), builder.getDenseI64ArrayAttr(dim),
          like.getMeshAttr(), like.getAxesAttr());
      gather->setDiscardableAttrs(like->getDiscardableAttrDictionary());
      return gather.getResult(0);
    };
    OpBuilder builder(first);
    const int64_t dim = first.getDimensions().front();
    const int64_t size =
        cast<RankedTensorType>(first.getType(0)).getDimSize(dim);
    Value whole = gatherAt(builder, first, value, dim, size);
    for (ScaledGather &one : all) {
      builder.setInsertionPoint(one.gather);
      BroadcastOp broadcast = one.getSmall();
      Value small = broadcast.getOperand();
      ArrayRef<int64_t> dims = broadcast.getDimensions();
      if (const int64_t *found = llvm::find(dims, dim); found != dims.end())
        small =
            gatherAt(builder, one.gather, small, found - dims.begin(), size);
      auto wholeOf = [&](Value other) {
        return cast<RankedTensorType>(other.getType())
            .clone(cast<RankedTensorType>(whole.getType()).getShape());
      };
      Operation *spread = builder.clone(*broadcast);
      spread->setOperand(0, small);
      spread->setDiscardableAttrs(one.op->getDiscardableAttrDictionary());
      spread->getResult(0).setType(wholeOf(broadcast));
      Operation *op = builder.clone(*one.op);
      op->setOperand(one.index, whole);
      op->setOperand(1 - one.index, spread->getResult(0));
      op->getResult(0).setType(wholeOf(op->getResult(0)));
      one.gather.getResult(0).replaceAllUsesWith(op->getResult(0));
    }
  }
}

namespace {

struct OptimizeCollectivesPass
    : pp::impl::OptimizeCollectivesBase<OptimizeCollectivesPass> {
  void runOnModule() override {
    auto main = lookupMain(getOperation());
    if (failed(main))
      return signalPassFailure();
    Block &body = main->getBody().front();
    // Visiting all ops of a large model takes most of the time here.
    const SmallVector<Operation *> reshards = collectReshards(body);
    const bool hasSlices = llvm::any_of(reshards, llvm::IsaPred<AllSliceOp>),
               hasGathers = llvm::any_of(reshards, llvm::IsaPred<AllGatherOp>);
    shareEqual(reshards);
    if (hasSlices) {
      formReduceScatters(body);
      cutBroadcasts(body);
    }
    if (hasGathers) {
      shareScaled(collectReshards(body));
      sinkGathers(body);
      hoistGathers(body);
    }
    eraseUnused(body);
  }
};

} // namespace
