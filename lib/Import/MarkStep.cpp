//===- MarkStep.cpp - forward, backward and update of a step --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What the loss, and metrics and states without gradients, are computed from is
// the forward pass. What JAX made by transposing, and what that alone reads, is
// the backward pass. The rest is the update.
//
// A backward op belongs to a forward op: the last one that reads the same
// activation or parameter, no later than those of the gradients that it reads.
// So gradients flow from later to earlier ops, as stages need it.
//
//===----------------------------------------------------------------------===//
#include "TrainingStep.h"
#include "pp/IR/Model.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

namespace {

class StepMarker {
public:
  explicit StepMarker(func::FuncOp main)
      : main(main), body(main.getBody().front()) {}

  void run();

private:
  void findDependences();
  void findForward();
  void findPhases();
  void orderByPhase();
  void numberForward();
  void numberBackward();
  int64_t findOrigin(Operation &op) const;
  int64_t findOriginOfGradient(Operation &op) const;
  std::optional<int64_t> findLastReader(Value value, int64_t bound) const;
  void classify();
  void ownElements(Value newValue, StringAttr parameter);
  void ownMeasures();
  void writeOwners();

  bool isOf(Operation *op, Phase phase) const { return getPhase(op) == phase; }
  /// Whether `value` is computed from a gradient in the backward pass.
  bool isGradient(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && isOf(op, Phase::Backward) && ofGradient.contains(value);
  }

  func::FuncOp main;
  Block &body;
  llvm::DenseSet<Value> ofArguments, ofBatch, ofGradient;
  llvm::DenseSet<Operation *> forward;
  int64_t numForward = 0;
  /// The parameter that an op of the update is for; null: several.
  llvm::DenseMap<Operation *, StringAttr> owners;
};

} // namespace

void StepMarker::findDependences() {
  ofArguments.insert_range(body.getArguments());
  addDependents(body, ofArguments);
  ofGradient = getGradientDependent(body);
}

void StepMarker::findForward() {
  ofBatch = getBatchDependent(main);
  SmallVector<Value> pending;
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands()))
    if (index == 0 || (ofBatch.contains(value) && !ofGradient.contains(value)))
      pending.push_back(value);
  while (!pending.empty())
    if (Operation *op = pending.pop_back_val().getDefiningOp())
      if (forward.insert(op).second)
        llvm::append_range(pending, op->getOperands());
}

/// An op is in no later part than its readers.
void StepMarker::findPhases() {
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    const bool isBackward =
        getKind(&op) == Kind::InputGradient ||
        llvm::any_of(op.getUsers(), [&](Operation *user) {
          return user != body.getTerminator() && !isOf(user, Phase::Update);
        });
    if (forward.contains(&op))
      op.removeAttr(attrs::kKind);
    else
      setKind(&op, isBackward ? Kind::InputGradient : Kind::Update);
  }
}

void StepMarker::orderByPhase() {
  SmallVector<Operation *> ops = llvm::map_to_vector(
      body.without_terminator(), [](Operation &op) { return &op; });
  llvm::stable_sort(ops, [](Operation *a, Operation *b) {
    return getPhase(a) < getPhase(b);
  });
  for (Operation *op : ops)
    op->moveBefore(body.getTerminator());
}

void StepMarker::numberForward() {
  for (Operation &op : body.without_terminator())
    if (isOf(&op, Phase::Forward))
      setOrigin(&op, numForward++);
}

/// The number of the last forward op, not behind `bound`, that reads `value`,
/// or else of what makes it. Ops on parameters alone are where their readers
/// are.
std::optional<int64_t> StepMarker::findLastReader(Value value,
                                                  int64_t bound) const {
  std::optional<int64_t> last;
  SmallVector<Value> pending{value};
  llvm::SmallDenseSet<Operation *> seen;
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (user == body.getTerminator() || !isOf(user, Phase::Forward) ||
          !seen.insert(user).second)
        continue;
      if (!ofBatch.contains(user->getResult(0)))
        llvm::append_range(pending, user->getResults());
      else if (getOrigin(user) <= bound)
        last = std::max(last.value_or(0), getOrigin(user));
    }
  Operation *maker = value.getDefiningOp();
  if (!last && maker && ofBatch.contains(value) && getOrigin(maker) >= 0 &&
      getOrigin(maker) <= bound)
    last = getOrigin(maker);
  return last;
}

int64_t StepMarker::findOriginOfGradient(Operation &op) const {
  int64_t bound = numForward - 1;
  for (Value operand : op.getOperands())
    if (isGradient(operand))
      bound = std::min(bound, getOrigin(operand.getDefiningOp()));
  std::optional<int64_t> origin;
  for (Value operand : op.getOperands()) {
    if (isGradient(operand) || !ofArguments.contains(operand))
      continue;
    if (std::optional<int64_t> last = findLastReader(operand, bound))
      origin = std::max(origin.value_or(0), *last);
  }
  return origin.value_or(bound);
}

/// A derivative that no gradient is in follows from what it reads.
int64_t StepMarker::findOrigin(Operation &op) const {
  if (isGradient(op.getResult(0)))
    return findOriginOfGradient(op);
  int64_t origin = 0;
  for (Value operand : op.getOperands())
    if (Operation *maker = operand.getDefiningOp())
      origin = std::max(origin, getOrigin(maker));
  return origin;
}

void StepMarker::numberBackward() {
  for (Operation &op : body.without_terminator())
    if (isOf(&op, Phase::Backward))
      setOrigin(&op, findOrigin(op));
  // It is computed where it is read first, which is behind that.
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (isOf(&op, Phase::Backward) && !isGradient(op.getResult(0)))
      for (Operation *user : op.getUsers())
        if (isOf(user, Phase::Backward))
          setOrigin(&op, std::max(getOrigin(&op), getOrigin(user)));
}

/// Gradients that are read beside an activation or a parameter are awaited by
/// earlier ops. All others are of parameters alone.
void StepMarker::classify() {
  llvm::DenseSet<Operation *> awaited;
  SmallVector<Value> pending;
  for (Operation &op : body.without_terminator())
    if (isOf(&op, Phase::Backward) &&
        (!isGradient(op.getResult(0)) ||
         llvm::any_of(op.getOperands(), [&](Value value) {
           return !isGradient(value) && ofArguments.contains(value);
         })))
      llvm::append_range(pending, op.getOperands());
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (op && isOf(op, Phase::Backward) && awaited.insert(op).second)
      llvm::append_range(pending, op->getOperands());
  }
  for (Operation &op : body.without_terminator())
    if (isOf(&op, Phase::Backward) && !awaited.contains(&op))
      setKind(&op, Kind::WeightGradient);
}

/// What the elements of a new value are computed from, up to numbers that all
/// updates share.
void StepMarker::ownElements(Value newValue, StringAttr parameter) {
  SmallVector<Value> pending{newValue};
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op || !isOf(op, Phase::Update))
      continue;
    auto [owner, isNew] = owners.try_emplace(op, parameter);
    if (!isNew && (owner->second == parameter || !owner->second))
      continue;
    if (!isNew)
      owner->second = {};
    for (Value operand : op->getOperands())
      if (cast<RankedTensorType>(operand.getType()).getRank() > 0)
        pending.push_back(operand);
  }
}

/// A measure of one parameter's gradient, as its norm, is computed where that
/// is.
void StepMarker::ownMeasures() {
  // The parameter that a gradient is of, by the first op that owns it.
  llvm::DenseMap<Value, StringAttr> gradients;
  for (Operation &op : body.without_terminator())
    if (StringAttr owner = owners.lookup(&op))
      for (Value operand : op.getOperands())
        if (isGradient(operand))
          gradients.try_emplace(operand, owner);
  for (Operation &op : body.without_terminator()) {
    if (!isOf(&op, Phase::Update) || owners.contains(&op))
      continue;
    StringAttr common;
    bool isOne = true;
    for (Value operand : op.getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || !ofGradient.contains(operand))
        continue;
      StringAttr owner = isOf(maker, Phase::Update) ? owners.lookup(maker)
                                                    : gradients.lookup(operand);
      isOne &= owner && (!common || common == owner);
      common = owner;
    }
    if (isOne && common)
      owners[&op] = common;
  }
}

void StepMarker::writeOwners() {
  for (auto [value, updated] : llvm::zip_equal(
           body.getTerminator()->getOperands(), getUpdatedArguments(main))) {
    if (!updated)
      continue;
    const unsigned index = updated.getArgNumber();
    if (getArgRole(main, index) == Role::Param)
      ownElements(value,
                  StringAttr::get(main.getContext(), getArgName(main, index)));
    else if (auto owner =
                 main.getArgAttrOfType<StringAttr>(index, attrs::kParameter))
      ownElements(value, owner);
  }
  ownMeasures();
  for (auto &[op, owner] : owners)
    if (owner)
      op->setAttr(attrs::kParameter, owner);
}

void StepMarker::run() {
  findDependences();
  findForward();
  findPhases();
  orderByPhase();
  numberForward();
  numberBackward();
  classify();
  writeOwners();
}

void pp::hlo::markStep(func::FuncOp main) { StepMarker(main).run(); }
