//===- Differentiate.cpp - the gradient of the loss -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reverse mode over the whole of @main. In: a forward graph whose first result
// is the loss. Out: the same graph followed by its backward pass, and one
// gradient result per parameter. Every forward op is numbered; a backward op
// carries the number of the op it is the gradient of, so that stages are chosen
// for forward ops alone.
//
//===----------------------------------------------------------------------===//
#include "ForwardOps.h"
#include "UpdateRules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "pp/IR/PlanKeys.h"
#include "pp/IR/Values.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

class Differentiator {
public:
  Differentiator(func::FuncOp main, bool roundsGradients)
      : main(main), roundsGradients(roundsGradients),
        terminator(main.getBody().front().getTerminator()),
        builder(terminator) {}

  LogicalResult run();

private:
  LogicalResult check();
  void numberForwardOps();
  void findDependences();
  LogicalResult differentiate(Operation *op);
  /// Skips the exponential and its sum: the gradient g of a softmax y becomes y
  /// (g - sum of g y), which reads two tensors and keeps one. False if `op` is
  /// no softmax.
  bool differentiateSoftmax(Operation *op, Value upstream);
  Value readBack(Value value);
  Value widen(Value sum, Type element);
  Value widenOne(Value sum, Type element, const DenseMap<Value, Value> &wide);
  /// Rounds after the sum over the batch, where the plan says so. False if `op`
  /// is no convert of a value that does not depend on the batch.
  bool differentiateRounding(Operation *op, Value upstream);
  /// The sum of the contributions to `value`, in forward order of its uses;
  /// null if there are none.
  Value gradientOf(Value value, int64_t origin);
  Value seedOf(Value loss);
  void appendGradients();
  void removeDeadOps();
  void classify();
  /// Marks the ops built since `last` as the gradient of forward op `origin`.
  void markSince(Operation *last, int64_t origin);

  func::FuncOp main;
  /// Gradients of parameters have the type that the model computes with.
  bool roundsGradients;
  Operation *terminator;
  OpBuilder builder;
  SmallVector<Operation *> forwardOps;
  /// An op stands behind those that it reads.
  llvm::SetVector<Operation *> backwardOps;
  /// Values that depend on a parameter, differentiably.
  llvm::DenseSet<Value> varied;
  /// Values that depend on an input or label: activations.
  llvm::DenseSet<Value> dataDependent;
  /// Contributions of the uses of a value, last use first.
  llvm::DenseMap<Value, SmallVector<Value>> contributions;
  /// Gradients of activations.
  SmallVector<Value> activationGradients;
};

LogicalResult Differentiator::check() {
  auto loss = main.getNumResults()
                  ? dyn_cast<RankedTensorType>(main.getResultTypes()[0])
                  : RankedTensorType();
  if (!loss || loss.getRank() != 0 || !isa<FloatType>(loss.getElementType()))
    return main.emitError(
        "expects a scalar float loss as the first result of @main");
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    if (getResultRole(main, index) == Role::Gradient)
      return main.emitError("expects a forward graph, got the gradient \"")
             << getResultName(main, index) << "\" among the results";
  for (BlockArgument argument : main.getArguments())
    if (getArgRole(main, argument.getArgNumber()) == Role::Param &&
        !isFloat(argument))
      return main.emitError("expects parameters of a float type, got \"")
             << getArgName(main, argument.getArgNumber()) << "\" of type "
             << argument.getType();
  return success();
}

void Differentiator::numberForwardOps() {
  for (Operation &op : main.getBody().front().without_terminator()) {
    setOrigin(&op, static_cast<int64_t>(forwardOps.size()));
    forwardOps.push_back(&op);
  }
}

void Differentiator::findDependences() {
  for (BlockArgument argument : main.getArguments()) {
    std::optional<Role> role = getArgRole(main, argument.getArgNumber());
    if (role == Role::Param)
      varied.insert(argument);
    else if (role == Role::Input || role == Role::Label)
      dataDependent.insert(argument);
  }
  for (Operation *op : forwardOps) {
    auto dependsOn = [&](const llvm::DenseSet<Value> &set) {
      return llvm::any_of(op->getOperands(),
                          [&](Value operand) { return set.contains(operand); });
    };
    if (dependsOn(dataDependent))
      dataDependent.insert_range(op->getResults());
    if (!dependsOn(varied) || isa<StopGradientOp>(op))
      continue;
    for (Value result : op->getResults())
      if (isFloat(result))
        varied.insert(result);
  }
}

void Differentiator::markSince(Operation *last, int64_t origin) {
  Block &body = main.getBody().front();
  auto first = last ? std::next(last->getIterator()) : body.begin();
  for (Operation &op : llvm::make_range(first, terminator->getIterator()))
    if (backwardOps.insert(&op)) // but for those of widenOne()
      setOrigin(&op, origin);
}

Value Differentiator::gradientOf(Value value, int64_t origin) {
  auto found = contributions.find(value);
  if (found == contributions.end())
    return {};
  Operation *last = terminator->getPrevNode();
  Value sum;
  for (Value part : llvm::reverse(found->second))
    sum =
        sum ? AddOp::create(builder, value.getLoc(), part.getType(), sum, part)
            : part;
  markSince(last, origin);
  return sum;
}

/// `value` as its only reader rounds it, in the type of `value`: then memory
/// holds no other.
Value Differentiator::readBack(Value value) {
  auto rounding = value.hasOneUse() ? dyn_cast<ConvertOp>(*value.user_begin())
                                    : ConvertOp();
  if (!rounding || !isFloat(rounding))
    return value;
  return ConvertOp::create(builder, value.getLoc(), value.getType(), rounding);
}

/// The operands of what makes `sum` that are sums over the batch themselves.
static SmallVector<Value, 2> partsOf(Value sum) {
  Operation *op = sum.getDefiningOp();
  if (!op)
    return {};
  if (isa<AddOp>(op))
    return {op->getOperand(0), op->getOperand(1)};
  if ((op->hasTrait<MovesElements>() && op->getNumOperands() == 1) ||
      isa<ScatterAddOp>(op))
    return {op->getOperand(0)};
  return {};
}

/// Makes `sum` in type `element`, of its parts in that type.
Value Differentiator::widenOne(Value sum, Type element,
                               const DenseMap<Value, Value> &wide) {
  Operation *op = sum.getDefiningOp();
  // In the place of `op`: what it reads lives no longer for it.
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(sum);
  auto take = [&](Operation *made) -> Value {
    if (op)
      setOrigin(made, getOrigin(op));
    backwardOps.insert(made);
    return made->getResult(0);
  };
  auto convert = [&](Value value) -> Value {
    return take(ConvertOp::create(builder, sum.getLoc(),
                                  ranked(value).clone(element), value));
  };
  auto rebuild = [&](ValueRange operands) {
    Operation *wider = builder.clone(*op);
    wider->setOperands(operands);
    wider->getResult(0).setType(ranked(sum).clone(element));
    return take(wider);
  };
  auto partAt = [&](unsigned index) {
    return wide.lookup(op->getOperand(index));
  };
  if (auto scatter = llvm::dyn_cast_or_null<ScatterAddOp>(op))
    return rebuild(
        {partAt(0), scatter.getIndices(), convert(scatter.getUpdates())});
  if (const size_t parts = partsOf(sum).size())
    return parts == 1 ? rebuild({partAt(0)}) : rebuild({partAt(0), partAt(1)});
  if (llvm::isa_and_nonnull<DotGeneralOp, ConvolutionOp>(op))
    return rebuild(op->getOperands());
  if (auto reduce = llvm::dyn_cast_or_null<ReduceOp>(op))
    return rebuild(convert(reduce.getOperand()));
  return convert(sum);
}

/// `sum`, the gradient of a value that does not depend on the batch, in type
/// `element`, which is wider than its own. Products and sums over the batch are
/// formed in it, so that they are rounded once, when they leave it.
Value Differentiator::widen(Value sum, Type element) {
  DenseMap<Value, Value> wide;
  // A value is widened once those that it is formed of are.
  SmallVector<std::pair<Value, unsigned>> work{{sum, 0}};
  while (!work.empty()) {
    auto &[value, operand] = work.back();
    const SmallVector<Value, 2> parts = partsOf(value);
    if (operand == parts.size()) {
      wide[value] = widenOne(value, element, wide);
      work.pop_back();
    } else if (Value part = parts[operand++]; !wide.contains(part)) {
      work.push_back({part, 0});
    }
  }
  return wide.lookup(sum);
}

bool Differentiator::differentiateSoftmax(Operation *op, Value upstream) {
  auto quotient = dyn_cast<DivOp>(op);
  auto exp = quotient ? quotient.getLhs().getDefiningOp<ExpOp>() : ExpOp();
  auto spread =
      exp ? quotient.getRhs().getDefiningOp<BroadcastOp>() : BroadcastOp();
  auto sum =
      spread ? spread.getOperand().getDefiningOp<ReduceOp>() : ReduceOp();
  if (!sum || sum.getReduction() != Reduction::Sum ||
      sum.getOperand() != exp.getResult() || !varied.contains(exp.getOperand()))
    return false;
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < quotient.getType().getRank(); ++dim)
    if (!llvm::is_contained(sum.getDimensions(), dim))
      kept.push_back(dim);
  if (spread.getDimensions() != ArrayRef(kept))
    return false;
  Location loc = op->getLoc();
  Type type = quotient.getType();
  Value y = readBack(quotient);
  Value product = MulOp::create(builder, loc, type, upstream, y);
  Value total = ReduceOp::create(builder, loc, sum.getType(), Reduction::Sum,
                                 product, sum.getDimensions());
  Value mean = BroadcastOp::create(builder, loc, type, total, kept);
  Value off = SubOp::create(builder, loc, type, upstream, mean);
  contributions[exp.getOperand()].push_back(
      MulOp::create(builder, loc, type, y, off));
  return true;
}

bool Differentiator::differentiateRounding(Operation *op, Value upstream) {
  if (roundsGradients || !upstream || !isa<ConvertOp>(op) ||
      dataDependent.contains(op->getOperand(0)) ||
      !varied.contains(op->getOperand(0)))
    return false;
  Type from = ranked(op->getOperand(0)).getElementType();
  if (ranked(upstream).getElementTypeBitWidth() >= from.getIntOrFloatBitWidth())
    return false;
  contributions[op->getOperand(0)].push_back(widen(upstream, from));
  return true;
}

LogicalResult Differentiator::differentiate(Operation *op) {
  SmallVector<Value> upstream;
  for (Value result : op->getResults()) {
    upstream.push_back(gradientOf(result, getOrigin(op)));
    if (upstream.back() && dataDependent.contains(result))
      activationGradients.push_back(upstream.back());
  }
  llvm::SmallBitVector needed(op->getNumOperands());
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (varied.contains(operand))
      needed.set(index);
  if (needed.none() || llvm::none_of(upstream, [](Value v) { return !!v; }))
    return success();
  auto model = dyn_cast<GradientOpInterface>(op);
  if (!model)
    return op->emitError("expects an op with a gradient, got ")
           << op->getName();
  Operation *last = terminator->getPrevNode();
  if (differentiateSoftmax(op, upstream.front()) ||
      differentiateRounding(op, upstream.front())) {
    markSince(last, getOrigin(op));
    return success();
  }
  SmallVector<Value> gradients(op->getNumOperands());
  if (failed(model.buildGradient(builder, upstream, needed, gradients)))
    return failure();
  markSince(last, getOrigin(op));
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), gradients))
    if (gradient)
      contributions[operand].push_back(gradient);
  return success();
}

/// The number of the first forward op that uses an argument; 0 if none does.
int64_t firstUse(BlockArgument argument, ArrayRef<Operation *> forwardOps) {
  int64_t first = forwardOps.size();
  for (Operation *user : argument.getUsers())
    if (int64_t origin = getOrigin(user); origin >= 0)
      first = std::min(first, origin);
  return first == static_cast<int64_t>(forwardOps.size()) ? 0 : first;
}

void Differentiator::appendGradients() {
  SmallVector<Value> gradients;
  SmallVector<DictionaryAttr> ofResults = getAllResultAttrs(main);
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (getArgRole(main, index) != Role::Param)
      continue;
    int64_t origin = firstUse(argument, forwardOps);
    Value gradient = gradientOf(argument, origin);
    if (!gradient) {
      Operation *last = terminator->getPrevNode();
      gradient = Arithmetic(builder, argument.getLoc())
                     .constant(0.0, argument.getType());
      markSince(last, origin);
    }
    gradients.push_back(gradient);
    ofResults.push_back(getResultAttrs(main.getContext(), Role::Gradient,
                                       getArgName(main, index)));
  }
  terminator->insertOperands(terminator->getNumOperands(), gradients);
  setSignature(main, getAllArgAttrs(main), ofResults);
}

void Differentiator::removeDeadOps() {
  SmallVector<Operation *> kept;
  llvm::DenseSet<Value> erased;
  for (Operation *op : llvm::reverse(backwardOps)) {
    if (isOpTriviallyDead(op)) {
      erased.insert_range(op->getResults());
      op->erase();
    } else {
      kept.push_back(op);
    }
  }
  llvm::erase_if(activationGradients,
                 [&](Value value) { return erased.contains(value); });
  backwardOps.clear();
  backwardOps.insert(kept.rbegin(), kept.rend());
}

/// Operands of an activation's gradient are input gradients: earlier layers
/// wait for them. All others are needed for parameters alone and may be
/// computed later.
void Differentiator::classify() {
  llvm::DenseSet<Operation *> awaited;
  SmallVector<Value> pending(activationGradients);
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (op && backwardOps.contains(op) && awaited.insert(op).second)
      llvm::append_range(pending, op->getOperands());
  }
  for (Operation *op : backwardOps)
    setKind(op,
            awaited.contains(op) ? Kind::InputGradient : Kind::WeightGradient);
}

/// One, or the scale of the loss.
Value Differentiator::seedOf(Value loss) {
  Arithmetic math(builder, loss.getLoc());
  const int64_t scale = findArg(main, loss_scaling::kScale);
  if (scale < 0)
    return math.constant(1.0, loss.getType());
  return math.convert(main.getArgument(scale), ranked(loss).getElementType());
}

LogicalResult Differentiator::run() {
  if (failed(check()))
    return failure();
  removeDeadForwardOps(main);
  separateBroadcasts(main);
  numberForwardOps();
  findDependences();
  Value loss = terminator->getOperand(0);
  if (varied.contains(loss)) {
    Operation *last = terminator->getPrevNode();
    contributions[loss].push_back(seedOf(loss));
    markSince(last, static_cast<int64_t>(forwardOps.size()) - 1);
  } else if (!varied.empty()) {
    main.emitWarning("no parameter changes: none reaches the loss, or only "
                     "through pp.stop_gradient, integers or comparisons");
  }
  for (Operation *op : llvm::reverse(forwardOps))
    if (failed(differentiate(op)))
      return failure();
  appendGradients();
  removeDeadOps();
  classify();
  return success();
}

struct DifferentiatePass : pp::impl::DifferentiateBase<DifferentiatePass> {
  void runOnModule() override {
    auto main = lookupMain(getOperation());
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attrs::kPlan);
    // A model that converts parameters itself says where gradients are rounded.
    const bool roundsGradients =
        !plan || plan.getWord(PlanKey::Precision) == "f32" ||
        plan.getWord(PlanKey::PrecisionGradients) == "low";
    if (failed(main) || failed(Differentiator(*main, roundsGradients).run()))
      signalPassFailure();
  }
};

} // namespace
