//===- LowerPrecision.cpp - compute in 16 bits ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a model in f32, and a plan whose `precision` is bf16 or f16. Out: the
// same model, whose products and what lies between them have that type, with a
// convert wherever a value changes it. Parameters, inputs and results keep
// their types, so that differentiation, which comes next, makes gradients of
// parameters in f32, and the optimizer updates f32 (Micikevicius et al., "Mixed
// Precision Training", 2018). PrecisionPolicy.h says what an op does.
//
// A value that is computed in f32 is rounded where it is made if an op that
// computes low reads it; all of its readers then read the rounded value, so
// that memory holds one of them. Rows of a tied embedding are looked up in the
// rounded table that a product reads.
//
//===----------------------------------------------------------------------===//
#include "PrecisionPolicy.h"
#include "UpdateRules.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "pp/Analysis/ValueNames.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"
#include "pp/IR/PlanKeys.h"
#include "pp/IR/Values.h"
#include "pp/Transforms/Passes.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_LOWERPRECISION
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

class PrecisionWriter {
public:
  PrecisionWriter(func::FuncOp main, FloatType low, PlanAttr plan)
      : main(main), builder(main.getContext()), low(low),
        batch(getBatchDependent(main)),
        toWide(plan.getWord(PlanKey::PrecisionWide)),
        toLow(plan.getWord(PlanKey::PrecisionLow)) {}

  LogicalResult run();

private:
  bool isWide(Value value) const { return getElementTypeOrSelf(value).isF32(); }
  /// Whether this pass gave `value` the low type; the model may use it, too.
  bool isLow(Value value) const { return made.contains(value); }
  bool isShared(Value value) const { return !batch.contains(value); }
  /// What the plan says of single ops counts before the policy.
  LogicalResult findRules();
  /// Finds the values that an op of rule Low reads, also through ops that move
  /// elements.
  void findWanted();
  /// Whether the op reads its float operands in the low type.
  bool wants(Operation *op) const;
  /// Finds lookups of a parameter that other ops read in the low type: rows are
  /// equal if the table is rounded first.
  void findTied();
  bool computesLow(Operation *op, PrecisionRule rule) const;
  void write(Operation *op);
  void convertOperands(Operation *op, bool toLow);
  /// `value` in the low type. What does not depend on the batch is converted
  /// where it is stored, which is done once a step.
  Value getLow(Value value);
  Value getWide(Value value);
  Value convert(Value value, Type element);

  func::FuncOp main;
  OpBuilder builder;
  FloatType low;
  const DenseSet<Value> batch;
  ValuePatterns toWide, toLow;
  DenseMap<Operation *, PrecisionRule> rules;
  /// The op that is written now.
  Operation *reader = nullptr;
  DenseSet<Value> wanted, made;
  DenseSet<Operation *> tied;
  DenseMap<Value, Value> lowOf, wideOf;
};

bool PrecisionWriter::wants(Operation *op) const {
  const PrecisionRule rule = rules.at(op);
  return rule == PrecisionRule::Low ||
         (rule == PrecisionRule::Moves && op->getNumResults() == 1 &&
          wanted.contains(op->getResult(0)));
}

void PrecisionWriter::findWanted() {
  for (Operation &op : llvm::reverse(main.getBody().front()))
    if (wants(&op))
      for (Value operand : op.getOperands())
        if (isWide(operand))
          wanted.insert(operand);
}

void PrecisionWriter::findTied() {
  for (auto lookup : main.getOps<GatherOp>())
    if (isShared(lookup.getOperand()) &&
        llvm::any_of(lookup.getOperand().getUsers(), [&](Operation *user) {
          return wants(user) && !isShared(user->getResult(0));
        }))
      tied.insert(lookup);
}

bool PrecisionWriter::computesLow(Operation *op, PrecisionRule rule) const {
  if (op->getNumResults() == 0 || isShared(op->getResult(0)))
    return false;
  if (rule == PrecisionRule::Low)
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return isWide(operand) || isLow(operand);
    });
  if (rule == PrecisionRule::Rounds)
    return tied.contains(op);
  if (rule != PrecisionRule::Follows && rule != PrecisionRule::Moves)
    return false;
  bool isAnyLow = false;
  for (Value operand : op->getOperands()) {
    isAnyLow |= isLow(operand) || lowOf.contains(operand);
    if (isWide(operand) && !isShared(operand) && !lowOf.contains(operand))
      return false;
  }
  return isAnyLow;
}

Value PrecisionWriter::convert(Value value, Type element) {
  // Beside its first reader, whose stage it belongs to.
  if (value.getDefiningOp())
    builder.setInsertionPointAfterValue(value);
  else
    builder.setInsertionPoint(reader);
  return ConvertOp::create(builder, value.getLoc(),
                           ranked(value).clone(element), value);
}

Value PrecisionWriter::getLow(Value value) {
  if (Value known = lowOf.lookup(value))
    return known;
  Operation *op = value.getDefiningOp();
  Value result;
  if (op && isShared(value) && op->getNumOperands() == 1 &&
      op->hasTrait<MovesElements>()) {
    Operation *const outer = std::exchange(reader, op);
    Value source = getLow(op->getOperand(0));
    reader = outer;
    builder.setInsertionPoint(op);
    Operation *moved = builder.clone(*op);
    moved->setOperand(0, source);
    result = moved->getResult(0);
    result.setType(ranked(value).clone(low));
  } else {
    result = convert(value, low);
  }
  made.insert(result);
  return lowOf[value] = result;
}

Value PrecisionWriter::getWide(Value value) {
  Value &known = wideOf[value];
  if (!known)
    known = convert(value, builder.getF32Type());
  return known;
}

void PrecisionWriter::convertOperands(Operation *op, bool toLow) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    if (toLow && isWide(value)) {
      operand.set(getLow(value));
      continue;
    }
    if (toLow)
      continue;
    // Results of the step, such as states, are not rounded.
    if (Value rounded = lowOf.lookup(value);
        rounded && !isShared(value) && !op->hasTrait<OpTrait::IsTerminator>())
      value = rounded;
    if (isLow(value))
      operand.set(getWide(value));
  }
}

void PrecisionWriter::write(Operation *op) {
  reader = op;
  const PrecisionRule rule = rules.at(op);
  const bool isComputedLow = computesLow(op, rule);
  // A convert of the model takes what there is.
  if (!isa<ConvertOp>(op))
    convertOperands(op, isComputedLow);
  for (Value result : op->getResults()) {
    if (!isWide(result) || isShared(result))
      continue;
    const bool isReturned =
        llvm::any_of(result.getUsers(), [](Operation *user) {
          return user->hasTrait<OpTrait::IsTerminator>();
        });
    if (isComputedLow && isReturned && isa<DotGeneralOp>(op)) {
      getLow(result); // the product itself sums, and writes, in f32
    } else if (isComputedLow) {
      result.setType(ranked(result).clone(low));
      made.insert(result);
    } else if (rule == PrecisionRule::Rounds || wanted.contains(result)) {
      getLow(result);
    }
  }
}

/// Whether the elements of a literal stay finite, and do not vanish, in
/// `semantics`; true for other values.
static bool fits(Value value, const llvm::fltSemantics &semantics) {
  while (Operation *op = value.getDefiningOp()) {
    if (!op->hasTrait<MovesElements>() || op->getNumOperands() != 1)
      break;
    value = op->getOperand(0);
  }
  auto constant = value.getDefiningOp<ConstantOp>();
  auto literal = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue())
                          : DenseFPElementsAttr();
  auto fitsOne = [&](APFloat element) {
    const bool isFinite = element.isFinite(), isZero = element.isZero();
    bool losesInfo;
    element.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
    return element.isFinite() == isFinite &&
           (isZero || !element.isFinite() || element.isNormal());
  };
  if (!literal)
    return true;
  return literal.isSplat() ? fitsOne(literal.getSplatValue<APFloat>())
                           : llvm::all_of(literal, fitsOne);
}

LogicalResult PrecisionWriter::findRules() {
  for (Operation &op : main.getBody().front()) {
    const bool isToWide = toWide.match(&op), isToLow = toLow.match(&op);
    if (isToWide && isToLow)
      return op.emitOpError()
             << "of \"" << getOpName(&op)
             << "\" is named by precision.f32 and by precision.low; leave one "
                "of them out";
    // A mask of -1e9 is no f16.
    const bool areFitting = llvm::all_of(op.getOperands(), [&](Value operand) {
      return fits(operand, low.getFloatSemantics());
    });
    rules[&op] = isToWide      ? PrecisionRule::Wide
                 : isToLow     ? PrecisionRule::Low
                 : !areFitting ? PrecisionRule::Wide
                               : getPrecisionRule(&op, batch);
  }
  for (auto [key, patterns] :
       {std::pair("precision.f32", &toWide), {"precision.low", &toLow}})
    if (std::optional<StringRef> pattern = patterns->findUnmatched())
      return main.emitError(key)
             << "=\"" << *pattern
             << "\" names no op; names are those of ops' locations, such as "
                "lm_head, and an op may follow: \"h.*.attn exp\"";
  return success();
}

LogicalResult PrecisionWriter::run() {
  if (failed(findRules()))
    return failure();
  findWanted();
  findTied();
  const SmallVector<Operation *> ops = llvm::to_vector(
      llvm::make_pointer_range(main.getBody().front().getOperations()));
  reader = &main.getBody().front().front();
  for (BlockArgument argument : main.getArguments())
    if (wanted.contains(argument) && !isShared(argument))
      getLow(argument);
  // Each op is visited after those that it reads.
  for (Operation *op : ops)
    write(op);
  return success();
}

} // namespace
/// Reports a model that cannot be computed in `low`.
static LogicalResult checkModel(func::FuncOp main, StringRef low) {
  bool hasWide = false;
  for (BlockArgument argument : main.getArguments()) {
    const unsigned index = argument.getArgNumber();
    if (getArgRole(main, index) != Role::Param)
      continue;
    hasWide |= getElementTypeOrSelf(argument).isF32();
    if (getElementTypeOrSelf(argument).isF64())
      return emitError(argument.getLoc())
             << "precision=" << low
             << " expects a model in f32, got parameter \""
             << getArgName(main, index) << "\" of type " << argument.getType()
             << "; leave precision out";
  }
  if (!hasWide)
    return main.emitError("precision=")
           << low
           << " expects parameters in f32, got none; leave precision out: the "
              "model says itself in which types it computes";
  return success();
}

/// The smallest f16 above 0 is 6e-8: the loss has to be scaled, or gradients
/// vanish. pp-differentiate and pp-add-optimizer read and update the scale.
static void addLossScale(func::FuncOp main) {
  MLIRContext *context = main.getContext();
  SmallVector<DictionaryAttr> ofArguments = getAllArgAttrs(main);
  ofArguments.push_back(getStateAttrs(context, loss_scaling::kScale,
                                      loss_scaling::kInitialScale));
  main.getBody().addArgument(
      RankedTensorType::get({}, Float32Type::get(context)), main.getLoc());
  setSignature(main, ofArguments, getAllResultAttrs(main));
}

namespace {
struct LowerPrecisionPass : pp::impl::LowerPrecisionBase<LowerPrecisionPass> {
  void runOnModule() override {
    auto main = lookupMain(getOperation());
    auto plan =
        failed(main) ? FailureOr<PlanAttr>() : lookupPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    const StringRef precision = plan->getWord(PlanKey::Precision);
    if (precision == "f32")
      return;
    if (failed(checkModel(*main, precision)))
      return signalPassFailure();
    FloatType low = BFloat16Type::get(&getContext());
    if (precision == "f16")
      low = Float16Type::get(&getContext());
    if (failed(PrecisionWriter(*main, low, *plan).run()))
      return signalPassFailure();
    if (low.isF16())
      addLossScale(*main);
  }
};
} // namespace
