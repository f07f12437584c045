//===- ResidualGraph.cpp - values between forward and backward ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// With Remat::Cheap, a value's price is its bytes, twice those if only keeping
// it brings it to memory. Values in memory that a contraction will read again
// are kept for nothing, because recomputing would write them again. With the
// other techniques memory alone counts.
//
// A value that would be recomputed from the same value of the layer before is
// kept: otherwise the first layer's backward work would be that of all layers,
// at once.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/ResidualGraph.h"
#include "mlir/IR/TypeUtilities.h"
#include "pp/Analysis/Contraction.h"
#include "pp/Analysis/StridedView.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;

/// Local, and reads no more than it writes: views, counters, elementwise ops.
static bool isCheap(Operation *op) {
  const bool isMove =
      op->hasTrait<MovesElements>() && !op->hasTrait<UpdatesOperand>();
  return op->hasTrait<OpTrait::Elementwise>() || isMove ||
         isa<ConstantOp, IotaOp, AxisIndexOp, RandomBitsOp, AllSliceOp>(op);
}

/// True for ops that run separately, from memory to memory.
static bool readsMemory(Operation *op) {
  return isContraction(op) ||
         (!isGraphOp(op) && !isa<AxisIndexOp, YieldOp>(op));
}

/// In FLOPs; what computes beside memory traffic costs no time.
static double workOf(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  return cost && !isCheap(op) ? cost.getFlops() : 0;
}

bool pp::canRepeat(Operation *op) {
  return isGraphOp(op) || isa<AxisIndexOp, AllSliceOp, AllGatherOp>(op);
}

bool pp::isHeldAnyway(Value operand) {
  auto source = operand.getDefiningOp<FragmentOp>();
  return isa<BlockArgument>(operand) ||
         (source && source.getPhase() == Phase::Prologue);
}

SmallVector<std::pair<FragmentOp, FragmentOp>>
pp::findResidualPairs(func::FuncOp main) {
  SmallVector<std::pair<FragmentOp, FragmentOp>> pairs;
  for (auto backward : main.getOps<FragmentOp>()) {
    if (backward.getPhase() != Phase::Backward &&
        backward.getPhase() != Phase::Weight)
      continue;
    for (auto forward : main.getOps<FragmentOp>())
      if (forward.getPhase() == Phase::Forward &&
          llvm::any_of(backward.getOperands(), [&](Value operand) {
            return operand.getDefiningOp() == forward.getOperation();
          }))
        pairs.push_back({forward, backward});
  }
  return pairs;
}

ResidualGraph::ResidualGraph(FragmentOp forward, FragmentOp backward,
                             Remat remat, ResidualMarks &marks)
    : forward(forward), backward(backward), remat(remat), marks(marks),
      body(&forward.getBody().front()),
      yield(cast<YieldOp>(body->getTerminator())) {
  hasLayers = llvm::any_of(body->without_terminator(), [](Operation &op) {
    return !findLayerName(&op).empty();
  });
  findVarying();
  findStored();
  findChained();
  findBoundaryReaders();
  findReread();
  addNodes();
}

Value ResidualGraph::atYield(Value operand) {
  return yield.getOperand(cast<OpResult>(operand).getResultNumber());
}

bool ResidualGraph::isArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isHeldAnyway(forward.getOperand(argument.getArgNumber()));
}

void ResidualGraph::findVarying() {
  auto main = forward->getParentOfType<func::FuncOp>();
  for (auto [operand, argument] :
       llvm::zip_equal(forward.getOperands(), body->getArguments())) {
    auto ofMain = dyn_cast<BlockArgument>(operand);
    std::optional<Role> role =
        ofMain ? getArgRole(main, ofMain.getArgNumber()) : std::nullopt;
    if (!isHeldAnyway(operand) || role == Role::Input || role == Role::Label)
      varying.insert(argument);
  }
  for (Operation &op : body->without_terminator())
    if (llvm::any_of(op.getOperands(),
                     [&](Value operand) { return varying.contains(operand); }))
      varying.insert_range(op.getResults());
}

Value ResidualGraph::baseOf(Value value) {
  while (!stored.contains(value) && isViewOp(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// The contraction writes its results after all its epilogues
/// (FormContractions.cpp).
void ResidualGraph::addContraction(Operation *product) {
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

void ResidualGraph::findStored() {
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
    if (isCheap(&op) && isHeldOver(op.getResult(0)))
      heldOver.insert(op.getResult(0));
  stored.insert(heldOver.begin(), heldOver.end());
}

void ResidualGraph::findDepths() {
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

void ResidualGraph::forEachReader(Value value,
                                  function_ref<void(Operation *)> visit) {
  SmallVector<Value> views{value};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers())
      if (isViewOp(user))
        views.push_back(user->getResult(0));
      else
        visit(user);
}

bool ResidualGraph::isHeldOver(Value value) {
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

void ResidualGraph::findChained() {
  for (Operation &op : body->without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value operand) {
          Operation *producer = operand.getDefiningOp();
          return heldOver.contains(operand) ||
                 (producer && isCheap(producer) && chained.contains(operand));
        }))
      chained.insert_range(op.getResults());
}

void ResidualGraph::findReread() {
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

bool ResidualGraph::crossesLayers(Value value) const {
  const StringRef own = findLayerName(value.getDefiningOp());
  return varying.contains(value) &&
         llvm::any_of(value.getUsers(), [&](Operation *reader) {
           return !isa<YieldOp>(reader) && findLayerName(reader) != own;
         });
}

void ResidualGraph::findBoundaryReaders() {
  // Chains of them would lead through all layers.
  auto isBoundary = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !op || (crossesLayers(value) && !boundaryReaders.contains(op));
  };
  for (Operation &op : body->without_terminator()) {
    auto operands = llvm::make_filter_range(
        op.getOperands(), [&](Value value) { return varying.contains(value); });
    if (isCheap(&op) && !operands.empty() && llvm::all_of(operands, isBoundary))
      boundaryReaders.insert(&op);
  }
}

bool ResidualGraph::isAllowed(Operation *op) {
  const bool isInLayer = !findLayerName(op).empty();
  auto isOfParameters = [&](Value operand) {
    return !varying.contains(operand);
  };
  switch (remat) {
  case Remat::None:
    return false;
  case Remat::Cheap:
    return isCheap(op);
  case Remat::Selective:
    if (isContraction(op) && llvm::any_of(op->getOperands(), isOfParameters))
      return false;
    return isGraphOp(op) || isCheap(op);
  case Remat::Full:
  case Remat::Auto:
    if (!isInLayer)
      return isCheap(op) || (!hasLayers && isGraphOp(op));
    return (isGraphOp(op) || isCheap(op) || isa<AllGatherOp>(op)) &&
           (!crossesLayers(op->getResult(0)) || boundaryReaders.contains(op));
  }
  llvm_unreachable("unknown technique");
}

int64_t ResidualGraph::priceOf(Value value) const {
  const int64_t bytes = getTensorBytes(value.getType());
  if (remat != Remat::Cheap)
    return bytes;
  if (reread.contains(value))
    return 0;
  return bytes * (stored.contains(value) ? 1 : 2);
}

bool ResidualGraph::isOfEveryLayer(Value value) {
  const bool isWithinLayer = (remat == Remat::Full || remat == Remat::Auto) &&
                             !findLayerName(value.getDefiningOp()).empty();
  return !isWithinLayer && heldOver.contains(value) && chained.contains(value);
}

static bool hasMark(Operation *op, Checkpoint mark) {
  auto own = op->getAttrOfType<CheckpointAttr>(attrs::kCheckpoint);
  return own && own.getValue() == mark;
}

bool ResidualGraph::isMarked(Operation *op, Checkpoint mark) {
  ValuePatterns &patterns =
      mark == Checkpoint::Keep ? marks.keep : marks.recompute;
  return patterns.match(op) || hasMark(op, mark);
}

/// What does not depend on the batch, such as a mask, belongs to all layers. A
/// pattern of a layer also names its collectives, which are never repeated.
bool ResidualGraph::isToRepeat(Value value) {
  Operation *op = value.getDefiningOp();
  return op && varying.contains(value) && canRepeat(op) &&
         isMarked(op, Checkpoint::Recompute);
}

bool ResidualGraph::mayRepeat(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  const bool isToKeep =
      varying.contains(value) && isMarked(op, Checkpoint::Keep);
  if (!canRepeat(op) && hasMark(op, Checkpoint::Recompute))
    contradiction = op;
  if (isToRepeat(value)) {
    if (isToKeep)
      contradiction = op;
    return true;
  }
  return !isToKeep && isAllowed(op) && !isOfEveryLayer(value);
}

void ResidualGraph::addNodes() {
  llvm::DenseSet<Value> needed, reached, repeatable;
  SmallVector<Value> work;
  auto reach = [&](Value value) {
    if (!isArgument(value) && reached.insert(value).second)
      work.push_back(value);
  };
  for (Value operand : backward.getOperands())
    if (operand.getDefiningOp() == forward.getOperation()) {
      needed.insert(atYield(operand));
      reach(atYield(operand));
    }
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!mayRepeat(value))
      continue;
    repeatable.insert(value);
    llvm::for_each(value.getDefiningOp()->getOperands(), reach);
  }
  auto add = [&](Value value) {
    if (reached.contains(value))
      addNode(value, repeatable.contains(value), needed.contains(value));
  };
  llvm::for_each(body->getArguments(), add);
  for (Operation &op : body->without_terminator())
    llvm::for_each(op.getResults(), add);
}

/// Ops that read nothing, such as constants, are always repeated.
void ResidualGraph::addNode(Value value, bool isRepeatable, bool isNeeded) {
  ResidualNode node;
  node.bytes = isToRepeat(value) ? ResidualNode::kNever : priceOf(value);
  node.isNeeded = isNeeded;
  if (isRepeatable) {
    Operation *op = value.getDefiningOp();
    node.work = remat == Remat::Auto ? std::llround(workOf(op)) : 0;
    for (Value operand : op->getOperands())
      if (!isArgument(operand))
        node.operands.push_back(numbers.find(operand)->second);
  }
  numbers.insert({value, nodes.size()});
  nodes.push_back(std::move(node));
}

LogicalResult ResidualGraph::verify() const {
  if (!contradiction)
    return success();
  InFlightDiagnostic error = contradiction->emitOpError()
                             << "of \"" << getOpName(contradiction) << "\" ";
  if (canRepeat(contradiction))
    return error << "is marked keep and recompute, by the plan's keys or by "
                    "pp.checkpoint; leave one of them out";
  return error << "reduces or exchanges values between devices, which is never "
                  "repeated; leave its pp.checkpoint out";
}

double ResidualGraph::getWork(const ResidualChoice &choice) const {
  double work = 0;
  for (auto [value, number] : numbers)
    if (choice.recomputed[number])
      work += workOf(value.getDefiningOp());
  return work;
}

SmallVector<Operation *>
ResidualGraph::getKept(const ResidualChoice &choice) const {
  SmallVector<Operation *> kept;
  for (auto [value, number] : numbers)
    if (Operation *op = value.getDefiningOp(); op && choice.kept[number])
      kept.push_back(op);
  return kept;
}

void pp::markKept(func::FuncOp main, ArrayRef<Operation *> kept) {
  main->walk([](Operation *op) { op->removeAttr(attrs::kKeep); });
  for (Operation *op : kept)
    op->setAttr(attrs::kKeep, UnitAttr::get(main.getContext()));
}
