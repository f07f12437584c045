//===- ParameterLayouts.cpp - where parameters lie otherwise --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Optimizer states need no reshard of their own: they lie as the update that
// reads and writes them. A parameter that is stored split is gathered for
// forward and, apart from that, for backward, so that nobody keeps it from one
// to the other; or before the micro-batches, for both.
//
//===----------------------------------------------------------------------===//
#include "ParameterLayouts.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <functional>

using namespace mlir;
using namespace pp;

namespace {

class LayoutWriter {
public:
  LayoutWriter(func::FuncOp main, int64_t zero, bool gathersOnce,
               GetAxes getAxes)
      : main(main), zero(zero), gathersOnce(gathersOnce), getAxes(getAxes),
        builder(main.getContext()) {}

  LogicalResult run();

private:
  void splitUpdate(BlockArgument parameter, ArrayRef<Operation *> update);
  Value splitGradient(Value value, BlockArgument parameter,
                      Operation *reader);
  void gatherUses(BlockArgument parameter, Kind kind,
                  function_ref<bool(Operation *)> isWanted);
  void gatherResult(unsigned result);
  void splitParameter(BlockArgument parameter, ArrayRef<Operation *> update);
  /// The identity of `value` in another layout, built where `builder` stands.
  /// What is done in every micro-batch is named after its `parameter`.
  Value build(Value value, LayoutChange change, bool each, Kind kind,
              Operation *like, BlockArgument parameter = {});

  func::FuncOp main;
  int64_t zero;
  bool gathersOnce;
  GetAxes getAxes;
  ArrayAttr axes;                    ///< of the parameter at hand
  llvm::StringMap<unsigned> results; ///< new values, by parameter
  OpBuilder builder;
};

} // namespace

Value LayoutWriter::build(Value value, LayoutChange change, bool each,
                          Kind kind, Operation *like, BlockArgument parameter) {
  auto reshard = ReshardOp::create(builder, value.getLoc(), value.getType(),
                                   value, change, axes, each);
  setKind(reshard, kind);
  for (StringRef name : {attrs::kOrigin, attrs::kStages})
    if (Attribute mark = like->getAttr(name))
      reshard->setAttr(name, mark);
  if (parameter)
    reshard->setAttr(attrs::kParameter, builder.getStringAttr(getArgName(
                                            main, parameter.getArgNumber())));
  return reshard;
}

/// True if `add` meets what no stage has both of.
static bool addsAcrossStages(AddOp add) {
  SmallVector<ArrayRef<int64_t>, 2> homes;
  for (Value operand : add->getOperands())
    homes.push_back(operand.getDefiningOp() ? getStages(operand.getDefiningOp())
                                            : ArrayRef<int64_t>());
  return !homes[0].empty() && !homes[1].empty() &&
         llvm::none_of(homes[0], [&](int64_t stage) {
           return llvm::is_contained(homes[1], stage);
         });
}

/// The gradient `value` in the layout of the update that `reader` belongs to.
/// What stages add up travels between them: each splits its part before.
Value LayoutWriter::splitGradient(Value value, BlockArgument parameter,
                                  Operation *reader) {
  auto add = value.getDefiningOp<AddOp>();
  if (add && addsAcrossStages(add)) {
    for (OpOperand &operand : add->getOpOperands())
      operand.set(splitGradient(operand.get(), parameter, add));
    return value;
  }
  bool isEach = zero >= 2;
  builder.setInsertionPointAfterValue(value);
  Operation *producer = value.getDefiningOp();
  return build(value, LayoutChange::With, isEach, Kind::WeightGradient,
               producer ? producer : reader,
               isEach ? parameter : BlockArgument());
}

/// The update reads its parameter and gradient split; a gradient that the step
/// returns is the same.
void LayoutWriter::splitUpdate(BlockArgument parameter,
                               ArrayRef<Operation *> update) {
  StringRef name = getArgName(main, parameter.getArgNumber());
  auto isOwnState = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto owner = argument ? main.getArgAttrOfType<StringAttr>(
                                argument.getArgNumber(), attrs::kParameter)
                          : StringAttr();
    return owner && owner.getValue() == name;
  };
  auto isFromOutside = [&](Value value) {
    Operation *producer = value.getDefiningOp();
    return cast<RankedTensorType>(value.getType()).getShape() ==
               cast<RankedTensorType>(parameter.getType()).getShape() &&
           (!producer || getKind(producer) != Kind::Update) &&
           !isOwnState(value);
  };
  llvm::MapVector<Value, SmallVector<OpOperand *>> uses;
  for (Operation *op : update)
    for (OpOperand &operand : op->getOpOperands())
      if (isFromOutside(operand.get()))
        uses[operand.get()].push_back(&operand);
  Operation *terminator = main.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (getResultRole(main, index) == Role::Gradient &&
        getResultName(main, index) == name && uses.contains(operand.get()))
      uses[operand.get()].push_back(&operand);
  }
  for (auto &[value, operands] : uses) {
    bool isGradient = value != parameter;
    if (!isGradient && zero == 3)
      continue;
    Operation *reader = operands.front()->getOwner();
    Value split;
    if (isGradient) {
      split = splitGradient(value, parameter, reader);
    } else {
      builder.setInsertionPointAfterValue(value);
      split = build(value, LayoutChange::With, /*each=*/false, Kind::Update,
                    reader);
    }
    for (OpOperand *operand : operands)
      operand->set(split);
  }
}

/// One gather, of `kind`, of a parameter that is stored split, for those of its
/// users before the update that are wanted.
void LayoutWriter::gatherUses(BlockArgument parameter, Kind kind,
                              function_ref<bool(Operation *)> isWanted) {
  SmallVector<OpOperand *> uses;
  Operation *first = nullptr;
  llvm::SmallSetVector<int64_t, 4> stages;
  for (OpOperand &use : parameter.getUses()) {
    Operation *user = use.getOwner();
    if (user == user->getBlock()->getTerminator() || isa<ReshardOp>(user) ||
        getKind(user) == Kind::Update || !isWanted(user))
      continue;
    uses.push_back(&use);
    stages.insert_range(getStages(user));
    if (!first || user->isBeforeInBlock(first))
      first = user;
  }
  if (uses.empty())
    return;
  builder.setInsertionPoint(first);
  Value whole = build(parameter, LayoutChange::Without, /*each=*/false, kind,
                      first, parameter);
  SmallVector<int64_t> sorted = stages.takeVector();
  llvm::sort(sorted);
  if (!sorted.empty())
    setStages(whole.getDefiningOp(), sorted);
  for (OpOperand *use : uses)
    use->set(whole);
}

/// A parameter that is stored whole is gathered after its update.
void LayoutWriter::gatherResult(unsigned result) {
  Operation *terminator = main.getBody().front().getTerminator();
  OpOperand &operand = terminator->getOpOperand(result);
  Operation *producer = operand.get().getDefiningOp();
  if (!producer || getKind(producer) != Kind::Update)
    return;
  builder.setInsertionPointAfter(producer);
  operand.set(build(operand.get(), LayoutChange::Without, /*each=*/false,
                    Kind::Update, producer));
}

void LayoutWriter::splitParameter(BlockArgument parameter,
                                  ArrayRef<Operation *> update) {
  StringRef name = getArgName(main, parameter.getArgNumber());
  axes = builder.getStrArrayAttr(getAxes(name));
  if (axes.empty())
    return;
  splitUpdate(parameter, update);
  auto isForward = [](Operation *user) {
    return getKind(user) == Kind::Forward;
  };
  if (zero == 3 && gathersOnce) {
    gatherUses(parameter, Kind::Prologue, [](Operation *) { return true; });
  } else if (zero == 3) {
    gatherUses(parameter, Kind::Forward, isForward);
    gatherUses(parameter, Kind::InputGradient, std::not_fn(isForward));
  } else if (auto result = results.find(name); result != results.end()) {
    gatherResult(result->second);
  }
}

LogicalResult LayoutWriter::run() {
  llvm::StringMap<SmallVector<Operation *>> updates;
  for (Operation &op : main.getBody().front().without_terminator())
    if (auto name = op.getAttrOfType<StringAttr>(attrs::kParameter)) {
      updates[name].push_back(&op);
      op.removeAttr(attrs::kParameter);
    }
  if (zero == 0)
    return success();
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    if (getResultRole(main, index) == Role::Param)
      results[getResultName(main, index)] = index;
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (getArgRole(main, index) != Role::Param)
      continue;
    auto update = updates.find(getArgName(main, index));
    if (update == updates.end())
      return main.emitError("expects an update of parameter \"")
             << getArgName(main, index) << "\" to share out for zero = " << zero
             << ", got none; pp-add-optimizer adds it";
    splitParameter(argument, update->second);
  }
  return success();
}

LogicalResult pp::writeParameterLayouts(func::FuncOp main, int64_t zero,
                                        bool gathersOnce, GetAxes getAxes) {
  return LayoutWriter(main, zero, gathersOnce, getAxes).run();
}
