//===- StepPlacement.cpp - stages and times of ops ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "StepPlacement.h"
#include <set>

using namespace mlir;
using namespace pp;

namespace {

SmallVector<int64_t> intersect(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(),
                        std::back_inserter(both));
  return both;
}

/// An addition that only another addition uses is part of the latter's sum.
bool feedsOneAdd(Operation *op) {
  return op->hasOneUse() && isa<AddOp>(*op->getUsers().begin());
}

int64_t sizeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

} // namespace

FailureOr<StepPlacement> StepPlacement::compute(func::FuncOp main,
                                                MeshAttr mesh) {
  StepPlacement placement(main);
  placement.positionOf = getPositions(main, mesh);
  if (MeshAxisAttr axis = mesh.getTimeAxis())
    placement.timeAxis = axis.getName();
  const int64_t numStages = placement.getNumStages();
  placement.allStages = llvm::to_vector(llvm::seq<int64_t>(numStages));
  placement.allPositions =
      llvm::to_vector(llvm::seq<int64_t>(mesh.getNumStagePositions()));

  auto areStages = [&](ArrayRef<int64_t> stages) {
    return !stages.empty() && stages.front() >= 0 &&
           stages.back() < numStages &&
           std::adjacent_find(stages.begin(), stages.end(),
                              std::greater_equal<>()) == stages.end();
  };
  for (Operation &op : main.getBody().front().without_terminator()) {
    if (!isSpmdOp(&op))
      return op.emitError("expects an op of level 2, got ") << op.getName();
    ArrayRef<int64_t> stages = pp::getStages(&op);
    if (!stages.empty() && !areStages(stages))
      return op.emitOpError() << "expects ascending stages (pp.stages) below "
                              << numStages << ", got [" << stages << "]";
  }
  for (BlockArgument arg : main.getArguments()) {
    std::optional<Role> role = getArgRole(main, arg.getArgNumber());
    bool isBatch = role == Role::Input || role == Role::Label;
    Place &place = placement.places[arg];
    place.time = isLoadedAnew(arg, mesh) ? TimeClass::PerMicroBatch
                                         : TimeClass::Invariant;
    auto stages = main.getArgAttrOfType<DenseI64ArrayAttr>(arg.getArgNumber(),
                                                           attrs::kStages);
    if (stages && !areStages(stages))
      return main.emitError("argument \"")
             << getArgName(main, arg.getArgNumber())
             << "\" expects ascending stages (pp.stages) below " << numStages
             << ", got [" << stages.asArrayRef() << "]";
    // Any stage can load a part of the batch.
    place.stages = placement.keep(placement.allStages);
    place.home = placement.keep(stages && !isBatch
                                    ? placement.positionsOf(stages.asArrayRef())
                                    : placement.allPositions);
  }
  if (failed(placement.placeOps()))
    return failure();
  if (failed(placement.verifyOrder()))
    return failure();
  placement.placeResults();
  // A sum makes the values that depend on it available, so the others depend on
  // the first.
  while (Value value = placement.findOutOfReach()) {
    placement.sums[value];
    // A position has the result of a sum in the update only.
    for (Operation *op : placement.stepOps)
      if (failed(placement.placeInStep(*op)))
        return failure();
  }
  return placement;
}

StepPlacementAnalysis::StepPlacementAnalysis(Operation *module) {
  auto main = lookupMain(cast<ModuleOp>(module));
  FailureOr<MeshOp> mesh = failure();
  if (succeeded(main))
    mesh = requireMesh(cast<ModuleOp>(module));
  if (succeeded(mesh))
    placement = StepPlacement::compute(*main, mesh->getMesh());
}

ArrayRef<int64_t> StepPlacement::keep(ArrayRef<int64_t> numbers) {
  return DenseI64ArrayAttr::get(main.getContext(), numbers).asArrayRef();
}

StepPlacement::Numbers
StepPlacement::positionsOf(ArrayRef<int64_t> stages) const {
  std::set<int64_t> positions;
  for (int64_t stage : stages)
    positions.insert(positionOf[stage]);
  return Numbers(positions.begin(), positions.end());
}

LogicalResult StepPlacement::placeOps() {
  for (Operation &op : main.getBody().front().without_terminator()) {
    if (failed(classify(op)))
      return failure();
    bool isPerMicroBatch =
        op.getNumResults() &&
        getTimeClass(op.getResult(0)) == TimeClass::PerMicroBatch;
    if (!isPerMicroBatch)
      stepOps.push_back(&op);
    if (failed(isPerMicroBatch ? placeInMicroBatch(op) : placeInStep(op)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// How often, and where alone
//===----------------------------------------------------------------------===//

/// A sum of gradients of different stages, as for a tied parameter, or of
/// measures of parameters of different stages.
bool StepPlacement::addsAcrossStages(Operation &op) const {
  bool isShared = llvm::all_of(op.getOperands(), [&](Value operand) {
    return getTimeClass(operand) == TimeClass::Invariant;
  });
  return isa<AddOp>(op) && (isShared || getKind(&op) == Kind::WeightGradient) &&
         sharesNoStage(op.getOperand(0), op.getOperand(1));
}

bool StepPlacement::sharesNoStage(Value a, Value b) const {
  const bool areOfMicroBatch = getTimeClass(a) == TimeClass::PerMicroBatch &&
                               getTimeClass(b) == TimeClass::PerMicroBatch;
  return areOfMicroBatch ? intersect(getStages(a), getStages(b)).empty()
                         : intersect(getHome(a), getHome(b)).empty();
}

/// Without micro-batches nothing is accumulated: the update is then the ops
/// that belong to no stage, need parameters of other stages, or add values of
/// different stages.
bool StepPlacement::belongsToStage(Operation &op) const {
  ArrayRef<int64_t> assigned = pp::getStages(&op);
  return !assigned.empty() && !addsAcrossStages(op) &&
         llvm::all_of(op.getOperands(), [&](Value operand) {
           return getTimeClass(operand) != TimeClass::Invariant ||
                  llvm::includes(getHome(operand), positionsOf(assigned));
         });
}

LogicalResult StepPlacement::classify(Operation &op) {
  if (isa<AccumulateOp>(op) &&
      getTimeClass(op.getOperand(0)) != TimeClass::PerMicroBatch)
    return op.emitOpError("expects a value of one micro-batch, got a value of "
                          "the whole step (step_c4)");
  bool perMicroBatch = false, perStep = isa<AccumulateOp>(op);
  if (auto index = dyn_cast<AxisIndexOp>(op))
    perMicroBatch = llvm::is_contained(index.getAxes(), timeAxis);
  for (Value operand : op.getOperands()) {
    TimeClass operandClass = getTimeClass(operand);
    perMicroBatch |= operandClass == TimeClass::PerMicroBatch;
    perStep |= operandClass == TimeClass::PerStep;
  }
  if (getKind(&op) == Kind::Prologue && (perMicroBatch || perStep))
    return op.emitOpError("of kind prologue expects operands computed from "
                          "parameters and states alone, got another one "
                          "(step_c5)");
  // An accumulated value is computed once per micro-batch, even if it is always
  // the same.
  perMicroBatch |= timeAxis && !perStep &&
                   llvm::any_of(op.getUsers(), llvm::IsaPred<AccumulateOp>);
  bool isOfUpdate =
      perMicroBatch ? !timeAxis && !belongsToStage(op) : addsAcrossStages(op);
  if (isOfUpdate) {
    perStep = true;
    perMicroBatch = false;
  }
  if (perStep && perMicroBatch && !isa<AccumulateOp>(op) && timeAxis)
    return op.emitOpError()
           << "expects values of one micro-batch or values accumulated over "
              "all of them, got both";
  TimeClass result = perStep         ? TimeClass::PerStep
                     : perMicroBatch ? TimeClass::PerMicroBatch
                                     : TimeClass::Invariant;
  for (Value value : op.getResults())
    places[value].time = result;
  return success();
}

/// The gradient of a value of several stages runs where its operands are, or on
/// the stage whose backward fragment comes last.
LogicalResult StepPlacement::placeInMicroBatch(Operation &op) {
  ArrayRef<int64_t> assigned = pp::getStages(&op);
  if (assigned.empty())
    return op.emitOpError() << "expects stages (pp.stages), got none; "
                               "pp-cut-stages assigns them";
  Numbers stages(assigned);
  bool isRepeated = true;
  for (Value operand : op.getOperands())
    if (getTimeClass(operand) == TimeClass::PerMicroBatch) {
      isRepeated = false;
      stages = intersect(stages, getStages(operand));
    }
  // Without such operands every stage has it, as the index of the micro-batch.
  if (!isRepeated)
    stages = {stages.empty() ? assigned.front() : stages.front()};
  for (Value result : op.getResults()) {
    places[result].stages = keep(stages);
    places[result].home = keep(positionsOf(stages));
  }
  return success();
}

/// Ops on parameters run where these are, except sums; other operands may be
/// brought there.
LogicalResult StepPlacement::placeInStep(Operation &op) {
  Numbers home = allPositions;
  auto meet = [&](Value operand) {
    Numbers both = intersect(home, getReach(operand));
    if (!both.empty())
      home = both;
    return !both.empty();
  };
  auto isShared = [&](Value operand) {
    return getTimeClass(operand) == TimeClass::Invariant;
  };
  for (Value operand : llvm::make_filter_range(op.getOperands(), isShared))
    if (!meet(operand) && !isa<AddOp>(op))
      return op.emitOpError()
             << "expects a stage that holds all parameters and states of its "
                "operands, got none; pp-cut-stages assigns them";
  for (Value operand : op.getOperands())
    if (!isShared(operand))
      meet(operand);
  if (isa<AccumulateOp>(op))
    home.resize(1);
  for (Value result : op.getResults())
    places[result].home = keep(home);
  return success();
}

/// Fragments of a micro-batch follow each other: forward from the first stage
/// on, then backward from the last. Their operands were computed before.
LogicalResult StepPlacement::verifyOrder() {
  auto turnOf = [&](Operation *op, int64_t stage) {
    return getKind(op) == Kind::Forward ? stage
                                        : 2 * getNumStages() - 1 - stage;
  };
  for (Operation &op : main.getBody().front().without_terminator())
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || getTimeClass(operand) != TimeClass::PerMicroBatch ||
          getTimeClass(op.getResult(0)) != TimeClass::PerMicroBatch)
        continue;
      int64_t stage = getStages(op.getResult(0)).front();
      int64_t source = llvm::is_contained(getStages(operand), stage)
                           ? stage
                           : getStages(operand).front();
      if (turnOf(producer, source) <= turnOf(&op, stage))
        continue;
      InFlightDiagnostic diagnostic =
          op.emitOpError("of kind ")
          << stringifyKind(getKind(&op)) << " on stage " << stage
          << " expects operands that were computed "
             "before, forward from the first "
             "stage on, then backward from the "
             "last, got one of kind "
          << stringifyKind(getKind(producer)) << " on stage " << source
          << "; pp-cut-stages writes pp.stages (step_c3)";
      diagnostic.attachNote(producer->getLoc()) << "computed here";
      return diagnostic;
    }
  return success();
}

void StepPlacement::placeResults() {
  Operation *terminator = main.getBody().front().getTerminator();
  for (auto [value, updated] :
       llvm::zip_equal(terminator->getOperands(), getUpdatedArguments(main)))
    resultPositions.push_back(updated ? Numbers(getHome(updated))
                                      : Numbers(getHome(value).take_front(1)));
}

//===----------------------------------------------------------------------===//
// Sums over positions
//===----------------------------------------------------------------------===//

/// A later sum may have left an earlier one to a single position.
const PositionSum *StepPlacement::getSum(Value value) const {
  auto it = sums.find(value);
  return it == sums.end() || it->second.positions.size() < 2 ? nullptr
                                                             : &it->second;
}

/// False for values that fragments of a micro-batch pass to the update.
bool StepPlacement::isComputedInStep(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && !isa<AccumulateOp>(op) &&
         getTimeClass(value) != TimeClass::PerMicroBatch;
}

void StepPlacement::collectAddends(Value value,
                                   SmallVectorImpl<Value> &addends) const {
  // Not by recursion: a norm adds up as many terms as there are parameters.
  SmallVector<Value> open = {value};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    Operation *op = next.getDefiningOp();
    const bool isInner =
        next == value || (op && feedsOneAdd(op) && !sums.contains(next));
    if (isInner && isa_and_nonnull<AddOp>(op) && isComputedInStep(next))
      open.append({op->getOperand(1), op->getOperand(0)});
    else
      addends.push_back(next);
  }
}

void StepPlacement::ask(Value value, ArrayRef<int64_t> positions) {
  ArrayRef<int64_t> &all = asked[value];
  if (llvm::includes(all, positions))
    return;
  Numbers both;
  std::set_union(all.begin(), all.end(), positions.begin(), positions.end(),
                 std::back_inserter(both));
  all = keep(both);
}

void StepPlacement::askForAddends(Value value, PositionSum &sum) {
  sum.addends.clear();
  sum.positions.assign(asked[value].begin(), asked[value].end());
  SmallVector<Value> addends;
  collectAddends(value, addends);
  std::set<int64_t> members(sum.positions.begin(), sum.positions.end());
  for (Value addend : addends) {
    ArrayRef<int64_t> reach =
        addend == value ? getHome(value) : getReach(addend);
    Numbers among = intersect(reach, asked[value]);
    int64_t owner = among.empty() ? reach.front() : among.front();
    sum.addends.push_back({addend, owner});
    members.insert(owner);
    if (addend != value)
      ask(addend, owner);
    else if (isComputedInStep(value))
      for (Value operand : value.getDefiningOp()->getOperands())
        ask(operand, owner);
  }
  sum.positions.assign(members.begin(), members.end());
}

/// The operands of `value`, of an addition all its addends, that not every
/// position that asks for it can have.
SmallVector<Value> StepPlacement::findLacking(Value value) const {
  SmallVector<Value> operands;
  if (isa<AddOp>(value.getDefiningOp()))
    collectAddends(value, operands);
  else
    llvm::append_range(operands, value.getDefiningOp()->getOperands());
  llvm::erase_if(operands, [&](Value operand) {
    return llvm::includes(getReach(operand), asked.at(value));
  });
  return operands;
}

/// True if the positions that ask for `value` lack just one of its operands,
/// which is no larger and can be summed before it: the prologue comes before
/// all sums.
bool StepPlacement::lacksOneOperand(Value value) const {
  if (getKind(value.getDefiningOp()) == Kind::Prologue)
    return false;
  const SmallVector<Value> operands = findLacking(value);
  return llvm::all_equal(operands) && operands.front().getDefiningOp() &&
         sizeOf(operands.front()) <= sizeOf(value);
}

/// One sum for all of them costs no more than one for each, unless one is made
/// larger than what it is computed from. An inner addition is left to the outer
/// one.
bool StepPlacement::lacksSeveralAddends(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!isa<AddOp>(op) || feedsOneAdd(op) || getKind(op) == Kind::Prologue)
    return false;
  const SmallVector<Value> lacking = findLacking(value);
  return !llvm::all_equal(lacking) && llvm::none_of(lacking, [&](Value addend) {
    return isComputedInStep(addend) &&
           llvm::any_of(
               addend.getDefiningOp()->getOperands(),
               [&](Value operand) { return sizeOf(operand) < sizeOf(addend); });
  });
}

/// Follows requests from the results through the update. Returns the first
/// value that has to come from a new sum; null if every position has its
/// operands.
Value StepPlacement::findOutOfReach() {
  asked.clear();
  Operation *terminator = main.getBody().front().getTerminator();
  for (auto [value, positions] :
       llvm::zip_equal(terminator->getOperands(), resultPositions))
    ask(value, positions);
  Value first;
  for (Operation &op :
       llvm::reverse(main.getBody().front().without_terminator())) {
    Value value = op.getResult(0);
    if (!asked.contains(value))
      continue;
    if (auto sum = sums.find(value); sum != sums.end()) {
      askForAddends(value, sum->second);
      continue;
    }
    bool isWithin = llvm::includes(getHome(value), asked[value]);
    const bool isComputed = isComputedInStep(value);
    if (isWithin ? isComputed && lacksSeveralAddends(value)
                 : !isComputed || !lacksOneOperand(value))
      first = value;
    else if (isComputed)
      for (Value operand : op.getOperands())
        ask(operand, asked.at(value));
  }
  return first;
}
