//===- Evaluate.cpp - a program that only evaluates a model ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a model, in the types that it computes with. Out: its loss, its metrics
// and the value to predict, as in evaluation, for one device. Ops have the
// numbers of the training step, so that a plan's cuts are the same places.
//
//===----------------------------------------------------------------------===//
#include "ForwardOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "pp/IR/Values.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_EVALUATE
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

class Evaluation {
public:
  explicit Evaluation(func::FuncOp main)
      : main(main), terminator(main.getBody().front().getTerminator()) {}

  /// Fails (usage) if no value has the name.
  LogicalResult returnPredicted(StringRef predict);
  void run();

private:
  LogicalResult findPredicted(StringRef name);
  llvm::DenseSet<Operation *> findTrained() const;
  void numberOps();
  void takeEvaluation();
  void addPrediction();
  void dropUpdates();

  func::FuncOp main;
  Operation *terminator;
  NameOp predicted; ///< null: none
};

constexpr int kUsage = 2;

/// Fails (usage) if there is none.
LogicalResult Evaluation::findPredicted(StringRef name) {
  SmallVector<std::string> names;
  for (auto op : main.getOps<NameOp>()) {
    if (op.getName() == name)
      predicted = op;
    if (!op.getGradient())
      names.push_back(op.getName().str());
  }
  if (name.empty() || predicted)
    return success();
  InFlightDiagnostic error = main.emitError("expects ");
  if (names.empty())
    error << "a model that names values (pp.name) to predict one, got none";
  else
    error << "the name of a value to predict, one of "
          << llvm::join(names, ", ");
  error << ", got '" << name << "'";
  setExitCode(error, kUsage);
  return error;
}

/// The ops that are left of the model while it trains.
llvm::DenseSet<Operation *> Evaluation::findTrained() const {
  llvm::DenseSet<Operation *> trained, seen;
  SmallVector<Value> pending;
  for (auto [index, value] : llvm::enumerate(terminator->getOperands()))
    if (getResultRole(main, index) != Role::Prediction)
      pending.push_back(value);
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto either = dyn_cast<IfTrainingOp>(op)) {
      pending.push_back(either.getTraining());
      continue;
    }
    trained.insert(op);
    llvm::append_range(pending, op->getOperands());
  }
  return trained;
}

void Evaluation::numberOps() {
  const llvm::DenseSet<Operation *> trained = findTrained();
  int64_t next = 0;
  for (Operation &op : main.getBody().front().without_terminator()) {
    const bool counts = trained.contains(&op);
    setOrigin(&op, counts ? next : std::max<int64_t>(next - 1, 0));
    next += counts;
  }
}

void Evaluation::takeEvaluation() {
  for (auto op : llvm::make_early_inc_range(main.getOps<IfTrainingOp>())) {
    op.replaceAllUsesWith(op.getEvaluation());
    op.erase();
  }
}

/// Makes the predicted value the last result, wide enough for any reader.
void Evaluation::addPrediction() {
  Value value = predicted.getOperand();
  if (auto type = dyn_cast<FloatType>(ranked(value).getElementType());
      type && type.getWidth() < 32) {
    // Last: an equal one of the model stays where it is.
    OpBuilder builder(terminator);
    value = ConvertOp::create(builder, predicted.getLoc(),
                              ranked(value).clone(builder.getF32Type()), value);
  }
  SmallVector<DictionaryAttr> attributes = getAllResultAttrs(main);
  attributes.push_back(
      getResultAttrs(main.getContext(), Role::Prediction, predicted.getName()));
  terminator->insertOperands(terminator->getNumOperands(), value);
  setSignature(main, getAllArgAttrs(main), attributes);
}

/// New values of states are not results.
void Evaluation::dropUpdates() {
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    if (getResultRole(main, index) != Role::State) {
      values.push_back(terminator->getOperand(index));
      attributes.push_back(main.getResultAttrDict(index));
    }
  terminator->setOperands(values);
  setSignature(main, getAllArgAttrs(main), attributes);
}

LogicalResult Evaluation::returnPredicted(StringRef predict) {
  if (failed(findPredicted(predict)))
    return failure();
  if (predicted)
    addPrediction();
  return success();
}

void Evaluation::run() {
  separateBroadcasts(main);
  numberOps();
  takeEvaluation();
  dropUpdates();
  removeDeadForwardOps(main);
}

struct EvaluatePass : pp::impl::EvaluateBase<EvaluatePass> {
  using EvaluateBase::EvaluateBase;
  void runOnModule() override {
    auto main = lookupMain(getOperation());
    auto plan =
        failed(main) ? FailureOr<PlanAttr>() : lookupPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    Evaluation evaluation(*main);
    // Equal expressions are one before the training step numbers them, too.
    // This also drops names that nobody reads.
    OpPassManager merging(ModuleOp::getOperationName());
    merging.addPass(createCSEPass());
    if (failed(evaluation.returnPredicted(predict)) ||
        failed(runPipeline(merging, getOperation())))
      return signalPassFailure();
    evaluation.run();
    getOperation()->setAttr(attrs::kLevel,
                            LevelAttr::get(&getContext(), Level::Graph));
  }
};

} // namespace
