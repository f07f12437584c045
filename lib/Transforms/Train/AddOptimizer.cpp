//===- AddOptimizer.cpp - the update of every parameter -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: @main with a gradient result per parameter, and a plan that names the
// optimizer. Out: @main as one training step. Optimizer states are arguments
// that start at zero; new parameters and states replace the gradients among the
// results. Definitions are those of torch.optim.
//
//===----------------------------------------------------------------------===//
#include "UpdateRules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Transforms/Passes.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_ADDOPTIMIZER
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// A parameter, its gradient and its new value.
struct Update {
  unsigned argument;
  std::string name;
  Value gradient;
  int64_t origin;
  Value newValue;
  /// Times the loss's scale, if it has one; else the same.
  Value scaled;
  OptimizerAttr rule = {};
};

/// A state argument and its value after the step.
struct State {
  std::string name;
  Value newValue;
};

class OptimizerBuilder {
public:
  OptimizerBuilder(func::FuncOp main, PlanAttr plan)
      : main(main), plan(plan), optimizer(plan.getOptimizer()),
        terminator(main.getBody().front().getTerminator()),
        builder(terminator) {}

  LogicalResult run(bool keepGradients);

private:
  LogicalResult collectUpdates();
  /// Gives parameters that lr.of and weight_decay.of name rates of their own.
  LogicalResult chooseRates();
  template <typename Function>
  LogicalResult forEachOf(PlanKey key, Function &&set);
  /// Reads the scale of the loss, if it has one: finds whether gradients are
  /// finite, divides them, and updates the scale.
  void buildUnscaling();
  /// `old` in a step that is skipped, else `fresh`.
  Value keepIfSkipped(Arithmetic &math, Value old, Value fresh) {
    return isSkipped ? math.select(isSkipped, old, fresh) : fresh;
  }
  /// Adds a state argument that starts at zero, with `extra` attributes.
  Value addState(const Twine &name, RankedTensorType type,
                 NamedAttrList extra = {});
  /// The state `prefix.NAME` of a parameter.
  Value addState(StringRef prefix, const Update &update);
  Type widestComputeType();
  void build();
  void buildUpdate(Update &update, const StepScalars &scalars);
  /// Marks the ops behind `last` as the update, of one parameter if named.
  void mark(Operation *last, int64_t origin, StringRef parameter = "");
  void replaceResults(bool keepGradients);

  func::FuncOp main;
  PlanAttr plan;
  OptimizerAttr optimizer;
  Operation *terminator;
  OpBuilder builder;
  SmallVector<Update> updates;
  SmallVector<State> states;
  /// Whether a gradient is not finite, and 1 / the loss's scale; null without
  /// loss scaling.
  Value isSkipped, inverse;
  /// Named scalars that the step reports.
  SmallVector<State> metrics;
  /// Attributes of the state arguments added to the block so far.
  SmallVector<DictionaryAttr> stateAttrs;
};

LogicalResult OptimizerBuilder::collectUpdates() {
  llvm::StringMap<Value> gradients;
  for (unsigned result = 0; result < main.getNumResults(); ++result)
    if (getResultRole(main, result) == Role::Gradient)
      gradients[getResultName(main, result)] = terminator->getOperand(result);
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (getArgRole(main, index) != Role::Param)
      continue;
    StringRef name = getArgName(main, index);
    Value gradient = gradients.lookup(name);
    if (!gradient)
      return main.emitError("expects a gradient of parameter \"")
             << name << "\" among the results; pp-differentiate adds it";
    Operation *producer = gradient.getDefiningOp();
    updates.push_back({index, name.str(), gradient,
                       producer ? getOrigin(producer) : -1, Value(), gradient});
  }
  return success();
}

Value OptimizerBuilder::addState(const Twine &name, RankedTensorType type,
                                 NamedAttrList attributes) {
  stateAttrs.push_back(getStateAttrs(main.getContext(), name, /*number=*/0,
                                     std::move(attributes)));
  return main.getBody().addArgument(type, main.getLoc());
}

Value OptimizerBuilder::addState(StringRef prefix, const Update &update) {
  auto type =
      cast<RankedTensorType>(main.getArgument(update.argument).getType());
  NamedAttrList attributes;
  attributes.set(attrs::kParameter, builder.getStringAttr(update.name));
  for (StringRef stored : {attrs::kStoredShape, attrs::kStoredOrder})
    if (Attribute form = main.getArgAttr(update.argument, stored))
      attributes.set(stored, form);
  return addState(prefix + "." + update.name,
                  type.clone(computeType(type.getElementType())), attributes);
}

void OptimizerBuilder::mark(Operation *last, int64_t origin,
                            StringRef parameter) {
  auto first =
      last ? std::next(last->getIterator()) : main.getBody().front().begin();
  for (Operation &op : llvm::make_range(first, terminator->getIterator())) {
    setKind(&op, Kind::Update);
    if (origin >= 0)
      setOrigin(&op, origin);
    if (!parameter.empty())
      op.setAttr(attrs::kParameter, builder.getStringAttr(parameter));
  }
}

void OptimizerBuilder::buildUpdate(Update &update, const StepScalars &scalars) {
  Operation *last = terminator->getPrevNode();
  Value parameter = main.getArgument(update.argument);
  Arithmetic math(builder, parameter.getLoc());
  Type element = cast<RankedTensorType>(parameter.getType()).getElementType();
  Value value = math.convert(parameter, computeType(element));
  Value gradient = math.convert(update.gradient, computeType(element));
  if (scalars.clip)
    gradient = math.scale(gradient, scalars.clip);
  SmallVector<Value> oldStates;
  for (StringRef prefix : stateNames(optimizer))
    oldStates.push_back(addState(prefix, update));
  UpdatedValues updated =
      applyRule(math, update.rule, scalars, value, gradient, oldStates);
  update.newValue =
      keepIfSkipped(math, parameter, math.convert(updated.value, element));
  for (auto [prefix, old, state] :
       llvm::zip_equal(stateNames(optimizer), oldStates, updated.states))
    states.push_back(
        {(prefix + "." + update.name).str(), keepIfSkipped(math, old, state)});
  mark(last, update.origin, update.name);
}

Type OptimizerBuilder::widestComputeType() {
  for (const Update &update : updates)
    if (getElementTypeOrSelf(main.getArgument(update.argument)).isF64())
      return builder.getF64Type();
  return builder.getF32Type();
}

void OptimizerBuilder::buildUnscaling() {
  const int64_t argument = findArg(main, loss_scaling::kScale);
  if (argument < 0 || updates.empty())
    return;
  Arithmetic math(builder, main.getLoc());
  Value scale = main.getArgument(argument), total;
  Operation *last = terminator->getPrevNode();
  inverse = math.convert(
      math.div(math.scalar(1.0), math.convert(scale, builder.getF64Type())),
      builder.getF32Type());
  mark(last, -1);
  for (Update &update : updates) {
    last = terminator->getPrevNode();
    Value zero = math.zeroIfFinite(update.gradient);
    Type element = getElementTypeOrSelf(main.getArgument(update.argument));
    update.gradient = math.scale(
        math.convert(update.gradient, computeType(element)), inverse);
    mark(last, update.origin, update.name);
    last = terminator->getPrevNode();
    total = total ? math.add(total, zero) : zero;
    mark(last, -1);
  }
  last = terminator->getPrevNode();
  // False for what is no number.
  Value isFinite =
      math.compare(Direction::LT, total,
                   math.scalar(std::numeric_limits<double>::infinity()));
  isSkipped = math.unary<NotOp>(isFinite);
  auto type = RankedTensorType::get({}, builder.getI32Type());
  auto addCounter = [&](StringRef name, Value fresh) {
    states.push_back({name.str(), fresh});
  };
  Value good = addState(loss_scaling::kGoodSteps, type);
  Value next = math.add(good, math.constant(1, type));
  Value grows = math.compare(
      Direction::GE, next, math.constant(loss_scaling::kGrowthInterval, type));
  Value zero = math.constant(0, type);
  addCounter(loss_scaling::kGoodSteps,
             math.select(isSkipped, zero, math.select(grows, zero, next)));
  Value skipped = addState(loss_scaling::kSkipped, type);
  Value skippedNow = math.select(
      isSkipped, math.add(skipped, math.constant(1, type)), skipped);
  addCounter(loss_scaling::kSkipped, skippedNow);
  // As torch does, a scale never grows to infinity.
  Value larger = math.scale(scale, loss_scaling::kGrowth);
  Value mayGrow = math.compare(
      Direction::LT, larger,
      math.constant(std::numeric_limits<double>::infinity(), larger.getType()));
  Value grown = math.select(math.binary<AndOp>(grows, mayGrow), larger, scale);
  addCounter(
      loss_scaling::kScale,
      math.select(isSkipped, math.scale(scale, loss_scaling::kBackoff), grown));
  mark(last, -1);
  metrics.push_back({"loss_scale", scale});
  metrics.push_back({"skipped_steps", skippedNow});
}

void OptimizerBuilder::build() {
  buildUnscaling();
  Operation *last = terminator->getPrevNode();
  Arithmetic math(builder, main.getLoc());
  Value step;
  if (needsStep(optimizer)) {
    auto type = RankedTensorType::get({}, builder.getI32Type());
    Value old = addState("optimizer.step", type);
    step = math.add(old, math.constant(1, type));
    states.push_back({"optimizer.step", keepIfSkipped(math, old, step)});
  }
  Type element = widestComputeType();
  StepScalars scalars = buildStepScalars(math, optimizer, step, element);
  mark(last, -1);
  // Where it varies; else the plan says it.
  if (optimizer.getWarmup() > 0 || optimizer.getDecay() != Decay::Constant)
    metrics.push_back({"learning_rate", scalars.scheduled});
  if (optimizer.getClip() > 0 && !updates.empty()) {
    SmallVector<Value> squares;
    for (const Update &update : updates) {
      last = terminator->getPrevNode();
      squares.push_back(math.sumOfSquares(update.scaled));
      mark(last, update.origin, update.name);
    }
    last = terminator->getPrevNode();
    const Value norm = buildNorm(math, squares, inverse);
    scalars.clip =
        math.convert(buildClip(math, optimizer.getClip(), norm), element);
    mark(last, -1);
    metrics.push_back({"grad_norm", norm});
  }
  // Parameters of one rule share their scalars.
  llvm::SmallDenseMap<Attribute, StepScalars> ofRule = {{optimizer, scalars}};
  for (Update &update : updates) {
    auto [its, isNew] = ofRule.try_emplace(update.rule);
    if (isNew) {
      last = terminator->getPrevNode();
      its->second = buildStepScalars(math, update.rule, step, element);
      its->second.clip = scalars.clip;
      mark(last, -1);
    }
    buildUpdate(update, its->second);
  }
}

void OptimizerBuilder::replaceResults(bool keepGradients) {
  struct Result {
    Value value;
    Role role;
    std::string name;
  };
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> ofArguments = getAllArgAttrs(main), attributes;
  llvm::append_range(ofArguments, stateAttrs);
  for (unsigned index = 0; index < main.getNumResults(); ++index) {
    if (getResultRole(main, index) == Role::Gradient)
      continue;
    values.push_back(terminator->getOperand(index));
    attributes.push_back(main.getResultAttrDict(index));
  }
  SmallVector<Result> added;
  for (const State &metric : metrics)
    added.push_back({metric.newValue, Role::Metric, metric.name});
  for (const Update &update : updates)
    added.push_back({update.newValue, Role::Param, update.name});
  for (const State &state : states)
    added.push_back({state.newValue, Role::State, state.name});
  for (const Update &update : updates)
    if (keepGradients)
      added.push_back({update.gradient, Role::Gradient, update.name});
  for (const Result &result : added) {
    values.push_back(result.value);
    attributes.push_back(
        getResultAttrs(main.getContext(), result.role, result.name));
  }
  terminator->setOperands(values);
  setSignature(main, ofArguments, attributes);
}

/// Calls set(update, number) for each parameter that a key of the plan names.
template <typename Function>
LogicalResult OptimizerBuilder::forEachOf(PlanKey key, Function &&set) {
  const StringRef text = plan.getWord(key);
  if (text.empty())
    return success();
  const SmallVector<RealOf> reals = *parseReals(text); // was verified
  for (const RealOf &real : reals) {
    bool isUsed = false;
    for (Update &update : updates)
      if (matchesPattern(real.pattern, update.name)) {
        set(update, real.number);
        isUsed = true;
      }
    if (!isUsed)
      return main.emitError("'")
             << getInfo(key).name << "' expects patterns of parameters, got '"
             << real.pattern << "', which matches none";
  }
  return success();
}

LogicalResult OptimizerBuilder::chooseRates() {
  for (Update &update : updates)
    update.rule = optimizer;
  if (failed(forEachOf(PlanKey::LrOf, [](Update &update, double number) {
        update.rule =
            update.rule.withRates(number, update.rule.getWeightDecay());
      })))
    return failure();
  return forEachOf(PlanKey::WeightDecayOf, [](Update &update, double number) {
    update.rule = update.rule.withRates(update.rule.getLr(), number);
  });
}

LogicalResult OptimizerBuilder::run(bool keepGradients) {
  if (optimizer.getDecay() != Decay::Constant &&
      optimizer.getSteps() <= optimizer.getWarmup())
    return main.emitError(
               "expects more steps than warm-up steps for a learning "
               "rate that falls, got ")
           << optimizer.getSteps() << " and " << optimizer.getWarmup();
  if (failed(collectUpdates()) || failed(chooseRates()))
    return failure();
  build();
  replaceResults(keepGradients);
  return success();
}

struct AddOptimizerPass : pp::impl::AddOptimizerBase<AddOptimizerPass> {
  using AddOptimizerBase::AddOptimizerBase;
  void runOnModule() override {
    auto main = lookupMain(getOperation());
    auto plan =
        failed(main) ? FailureOr<PlanAttr>() : lookupPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    if (!plan->getOptimizer()) {
      *plan = plan->withOptimizer(OptimizerAttr::getDefault(
          &getContext(),
          *symbolizeOptimizerKind(getInfo(PlanKey::Optimizer).byDefault)));
      getOperation()->setAttr(attrs::kPlan, *plan);
    }
    if (failed(OptimizerBuilder(*main, *plan).run(keepGradients)))
      return signalPassFailure();
    getOperation()->setAttr(attrs::kLevel,
                            LevelAttr::get(&getContext(), Level::Graph));
  }
};

} // namespace
