//===- StepPlacement.cpp - where and when each op of a step runs ----------===//
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

} // namespace

FailureOr<StepPlacement> StepPlacement::compute(func::FuncOp main,
                                                MeshAttr mesh) {
  StepPlacement placement;
  if (MeshAxisAttr axis = mesh.getStageAxis())
    placement.numStages = axis.getSize();
  if (MeshAxisAttr axis = mesh.getTimeAxis())
    placement.timeAxis = axis.getName();
  placement.allStages =
      llvm::to_vector(llvm::seq<int64_t>(placement.numStages));

  for (BlockArgument arg : main.getArguments()) {
    std::optional<Role> role = getArgRole(main, arg.getArgNumber());
    bool isBatch = role == Role::Input || role == Role::Label;
    placement.timeClasses[arg] =
        isBatch ? TimeClass::PerMicroBatch : TimeClass::Invariant;
    auto stages = main.getArgAttrOfType<DenseI64ArrayAttr>(arg.getArgNumber(),
                                                           attrs::kStages);
    placement.homes[arg] = stages ? SmallVector<int64_t>(stages.asArrayRef())
                                  : placement.allStages;
  }
  for (Operation &op : main.getBody().front().without_terminator())
    if (failed(placement.classify(op)) || failed(placement.place(op)))
      return failure();
  return placement;
}

ArrayRef<int64_t> StepPlacement::getHome(Value value) const {
  auto it = homes.find(value);
  return it == homes.end() ? ArrayRef<int64_t>(allStages)
                           : ArrayRef<int64_t>(it->second);
}

const CrossStageSum *StepPlacement::getSum(Operation *op) const {
  auto it = sums.find(op);
  return it == sums.end() ? nullptr : &it->second;
}

/// A sum of gradients of different stages, as a tied parameter has it.
bool StepPlacement::addsAcrossStages(Operation &op) const {
  return isa<AddOp>(op) && getKind(&op) == Kind::WeightGradient &&
         intersect(getHome(op.getOperand(0)), getHome(op.getOperand(1)))
             .empty();
}

LogicalResult StepPlacement::classify(Operation &op) {
  bool perMicroBatch = false, perStep = isa<AccumulateOp>(op);
  if (auto index = dyn_cast<AxisIndexOp>(op))
    perMicroBatch = llvm::is_contained(index.getAxes(), timeAxis);
  for (Value operand : op.getOperands()) {
    TimeClass operandClass = getTimeClass(operand);
    perMicroBatch |= operandClass == TimeClass::PerMicroBatch;
    perStep |= operandClass == TimeClass::PerStep;
  }
  // Without micro-batches nothing is accumulated: the update is then what
  // belongs to no stage, or adds what different stages computed.
  bool belongsToStage = !pp::getStages(&op).empty() && !addsAcrossStages(op);
  if (!timeAxis && perMicroBatch && !belongsToStage) {
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
    timeClasses[value] = result;
  return success();
}

void StepPlacement::collectAddends(Value value,
                                   SmallVectorImpl<Value> &addends) const {
  auto add = value.getDefiningOp<AddOp>();
  if (!add || !feedsOneAdd(add) || getTimeClass(value) != TimeClass::PerStep) {
    addends.push_back(value);
    return;
  }
  collectAddends(add.getLhs(), addends);
  collectAddends(add.getRhs(), addends);
}

LogicalResult StepPlacement::place(Operation &op) {
  SmallVector<int64_t> home = allStages;
  ArrayRef<int64_t> assigned = pp::getStages(&op);
  TimeClass timeClass =
      op.getNumResults() ? getTimeClass(op.getResult(0)) : TimeClass::Invariant;
  if (timeClass == TimeClass::PerMicroBatch) {
    if (assigned.size() != 1)
      return op.emitOpError()
             << "expects one stage (pp.stages), got " << assigned.size()
             << "; pp-cut-stages assigns it";
    home.assign(assigned.begin(), assigned.end());
  } else {
    for (Value operand : op.getOperands())
      home = intersect(home, getHome(operand));
  }

  auto add = dyn_cast<AddOp>(op);
  bool isRoot = add && timeClass == TimeClass::PerStep && !feedsOneAdd(&op);
  if (isRoot) {
    SmallVector<Value> addends;
    collectAddends(add.getLhs(), addends);
    collectAddends(add.getRhs(), addends);
    home = allStages;
    for (Value addend : addends)
      home = intersect(home, getHome(addend));
    if (home.empty()) {
      CrossStageSum &sum = sums[&op];
      std::set<int64_t> owners;
      for (Value addend : addends) {
        sum.addends.push_back({addend, getHome(addend).front()});
        owners.insert(getHome(addend).front());
      }
      sum.stages.assign(owners.begin(), owners.end());
      home = sum.stages;
      SmallVector<Value> inner{add.getLhs(), add.getRhs()};
      while (!inner.empty()) {
        auto part = inner.pop_back_val().getDefiningOp<AddOp>();
        if (!part || !feedsOneAdd(part) ||
            getTimeClass(part) != TimeClass::PerStep)
          continue;
        insideSum.insert(part);
        inner.append({part.getLhs(), part.getRhs()});
      }
    }
  }
  bool isPartOfSum = add && timeClass == TimeClass::PerStep && !isRoot;
  if (home.empty() && !isPartOfSum)
    return op.emitOpError()
           << "expects operands that live on one stage, or a sum of values of "
              "different stages";
  for (Value result : op.getResults())
    homes[result] = home;
  return success();
}
