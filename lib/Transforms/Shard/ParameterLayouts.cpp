//===- ParameterLayouts.cpp - layouts of parameters -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Optimizer states need no reshard: they have the layout of the update that
// reads and writes them. A parameter that is stored split is gathered for
// forward and again for backward, so that it is not kept in between; or before
// the micro-batches, for both. With any `zero`, a parameter that forward and
// backward read in a narrower type alone is stored split, and gathered before
// the micro-batches: what is gathered after the update would be wider.
//
//===----------------------------------------------------------------------===//
#include "ParameterLayouts.h"
#include "GradientSums.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "pp/Analysis/Factors.h"
#include "pp/Analysis/Layers.h"
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
               GetSharedOut getSharedOut)
      : main(main), zero(zero), gathersOnce(gathersOnce),
        getSharedOut(getSharedOut), builder(main.getContext()) {}

  LogicalResult run();
  void convertParametersOnce();

private:
  void writeLayers();
  void splitUpdate(BlockArgument parameter, ArrayRef<Operation *> update,
                   bool isSplit);
  void splitGradient(Value value, ArrayRef<OpOperand *> uses, Operation *like,
                     BlockArgument parameter);
  void gatherUses(Value value, BlockArgument parameter, Kind kind,
                  function_ref<bool(Operation *)> isWanted);
  void gatherResult(unsigned result);
  void convertOnce(Value value);
  bool isStoredSplit(BlockArgument parameter) const;
  void splitParameter(BlockArgument parameter, ArrayRef<Operation *> update);
  /// The identity of `value` in another layout, built where `builder` stands.
  /// Work of every micro-batch is named after its `parameter`.
  Value build(Value value, LayoutChange change, bool each, Kind kind,
              Operation *like, BlockArgument parameter = {});

  func::FuncOp main;
  int64_t zero;
  bool gathersOnce;
  GetSharedOut getSharedOut;
  /// Axes of the current parameter.
  ArrayAttr axes;
  SmallVector<int64_t> whole;
  llvm::DenseMap<Value, unsigned> results; ///< new values, by parameter
  /// Gradients that the step returns, by name.
  llvm::StringMap<SmallVector<OpOperand *, 1>> gradients;
  GradientSums sums;
  OpBuilder builder;
};

} // namespace

Value LayoutWriter::build(Value value, LayoutChange change, bool each,
                          Kind kind, Operation *like, BlockArgument parameter) {
  auto reshard = ReshardOp::create(
      builder, value.getLoc(), value.getType(), value, change, axes,
      whole.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(whole),
      each);
  setKind(reshard, kind);
  for (StringRef name : {attrs::kOrigin, attrs::kStages})
    if (Attribute mark = like->getAttr(name))
      reshard->setAttr(name, mark);
  if (parameter)
    reshard->setAttr(attrs::kParameter, builder.getStringAttr(getArgName(
                                            main, parameter.getArgNumber())));
  return reshard;
}

/// Splits `value`, all whose `uses` read it split, at the sums that it is made
/// of, so that each is formed in the type that it has and in parts: a convert
/// makes a part of its result from a part of its operand.
void LayoutWriter::splitGradient(Value value, ArrayRef<OpOperand *> uses,
                                 Operation *like, BlockArgument parameter) {
  struct Piece {
    Value value;
    SmallVector<OpOperand *, 2> uses;
    Operation *like;
    SmallVector<int64_t> whole;
  };
  const SmallVector<int64_t> ofGradient = whole;
  SmallVector<Piece> pieces = {{value, llvm::to_vector<2>(uses), like, whole}};
  while (!pieces.empty()) {
    const Piece piece = pieces.pop_back_val();
    const bool isAll =
        static_cast<size_t>(llvm::range_size(piece.value.getUses())) ==
        piece.uses.size();
    Operation *maker = isAll ? sums.findMakerOfParts(piece.value) : nullptr;
    if (maker) {
      const ShardingRule rule =
          cast<ShardingOpInterface>(maker).getShardingRule();
      for (OpOperand &operand : llvm::reverse(maker->getOpOperands()))
        pieces.push_back(
            {operand.get(),
             {&operand},
             maker,
             mapDims(rule.results.front(),
                     rule.operands[operand.getOperandNumber()], piece.whole)});
      continue;
    }
    builder.setInsertionPointAfterValue(piece.value);
    Operation *producer = piece.value.getDefiningOp();
    const bool isEach = zero >= 2;
    whole = piece.whole;
    Value split = build(piece.value, LayoutChange::With, isEach,
                        Kind::WeightGradient, producer ? producer : piece.like,
                        isEach ? parameter : BlockArgument());
    for (OpOperand *use : piece.uses)
      use->set(split);
  }
  whole = ofGradient;
}

/// The update reads its parameter, which may be stored split, and its gradient
/// split; a gradient that the step returns is the same.
void LayoutWriter::splitUpdate(BlockArgument parameter,
                               ArrayRef<Operation *> update, bool isSplit) {
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
  for (OpOperand *returned : gradients.lookup(name))
    if (uses.contains(returned->get()))
      uses[returned->get()].push_back(returned);
  for (auto &[value, operands] : uses) {
    if (value != parameter) {
      splitGradient(value, operands, operands.front()->getOwner(), parameter);
      continue;
    }
    if (isSplit)
      continue;
    builder.setInsertionPointToStart(&main.getBody().front());
    Value split = build(value, LayoutChange::With, /*each=*/false, Kind::Update,
                        operands.front()->getOwner());
    for (OpOperand *operand : operands)
      operand->set(split);
  }
}

/// True for an op on one value that can be computed in parts.
static bool isMadeFromOne(Operation *op) {
  return op->getNumOperands() == 1 && isMadeInParts(op);
}

/// The fewest bits of an element in `value`, or in values computed from it
/// alone.
static unsigned findNarrowest(Value value) {
  unsigned fewest = getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  while (value.hasOneUse() && isMadeFromOne(*value.user_begin())) {
    value = (*value.user_begin())->getResult(0);
    fewest =
        std::min(fewest, getElementTypeOrSelf(value).getIntOrFloatBitWidth());
  }
  return fewest;
}

/// With zero=3, or if forward and backward read it in a narrower type alone.
bool LayoutWriter::isStoredSplit(BlockArgument parameter) const {
  if (zero == 3)
    return true;
  const unsigned bits = getElementTypeOrSelf(parameter).getIntOrFloatBitWidth();
  bool isRead = false;
  for (Operation *user : parameter.getUsers()) {
    if (user->hasTrait<OpTrait::IsTerminator>() ||
        getKind(user) == Kind::Update)
      continue;
    if (!isMadeFromOne(user) || findNarrowest(user->getResult(0)) >= bits)
      return false;
    isRead = true;
  }
  return isRead;
}

/// One gather, of `kind`, of a parameter that is stored split, for the given
/// users before the update. Users that read it in a narrower type get another
/// one, of the converted parts.
void LayoutWriter::gatherUses(Value value, BlockArgument parameter, Kind kind,
                              function_ref<bool(Operation *)> isWanted) {
  SmallVector<OpOperand *> uses;
  SmallVector<Operation *> converts;
  Operation *first = nullptr;
  llvm::SmallSetVector<int64_t, 4> stages;
  const unsigned bits = getElementTypeOrSelf(value).getIntOrFloatBitWidth();
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (user == user->getBlock()->getTerminator() || isa<ReshardOp>(user) ||
        getKind(user) == Kind::Update)
      continue;
    if (isMadeFromOne(user) && findNarrowest(user->getResult(0)) < bits) {
      converts.push_back(user);
      continue;
    }
    if (!isWanted(user))
      continue;
    uses.push_back(&use);
    stages.insert_range(getStages(user));
    if (!first || user->isBeforeInBlock(first))
      first = user;
  }
  if (!uses.empty()) {
    builder.setInsertionPoint(first);
    Value gathered = build(value, LayoutChange::Without, /*each=*/false, kind,
                           first, parameter);
    SmallVector<int64_t> sorted = stages.takeVector();
    llvm::sort(sorted);
    if (!sorted.empty())
      setStages(gathered.getDefiningOp(), sorted);
    for (OpOperand *use : uses)
      use->set(gathered);
  }
  const SmallVector<int64_t> ofOperand = whole;
  for (Operation *convert : converts) {
    const ShardingRule rule =
        cast<ShardingOpInterface>(convert).getShardingRule();
    whole = mapDims(rule.operands.front(), rule.results.front(), ofOperand);
    gatherUses(convert->getResult(0), parameter, kind, isWanted);
  }
  whole = ofOperand;
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
  const SharedOut shared = getSharedOut(parameter);
  if (shared.axes.empty())
    return;
  axes = builder.getStrArrayAttr(shared.axes);
  whole = shared.whole;
  const bool isSplit = isStoredSplit(parameter);
  splitUpdate(parameter, update, isSplit);
  auto isForward = [](Operation *user) {
    return getKind(user) == Kind::Forward;
  };
  if (isSplit && (gathersOnce || zero != 3)) {
    gatherUses(parameter, parameter, Kind::Prologue,
               [](Operation *) { return true; });
  } else if (isSplit) {
    gatherUses(parameter, parameter, Kind::Forward, isForward);
    gatherUses(parameter, parameter, Kind::InputGradient,
               std::not_fn(isForward));
  } else if (auto result = results.find(parameter); result != results.end()) {
    gatherResult(result->second);
  }
}

/// Only the model's graph, which later passes no longer see, shows which
/// parameters are gathered together.
void LayoutWriter::writeLayers() {
  SmallVector<Attribute> layers;
  for (int64_t layer : findLayers(main))
    layers.push_back(layer < 0 ? Attribute()
                               : builder.getI64IntegerAttr(layer));
  setArgAttrs(main, attrs::kLayer, layers);
}

/// A parameter that is computed with in a narrower type is converted once a
/// step, not in every micro-batch.
void LayoutWriter::convertOnce(Value value) {
  for (Operation *user : value.getUsers()) {
    if (getKind(user) == Kind::Update || !isMadeFromOne(user))
      continue;
    Value result = user->getResult(0);
    if (findNarrowest(result) >=
        getElementTypeOrSelf(value).getIntOrFloatBitWidth())
      continue;
    setKind(user, Kind::Prologue);
    convertOnce(result);
  }
}

void LayoutWriter::convertParametersOnce() {
  for (BlockArgument argument : main.getArguments())
    if (getArgRole(main, argument.getArgNumber()) == Role::Param)
      convertOnce(argument);
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
  for (auto [index, updated] : llvm::enumerate(getUpdatedArguments(main)))
    if (updated)
      results[updated] = index;
  Operation *terminator = main.getBody().front().getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    const unsigned index = operand.getOperandNumber();
    if (getResultRole(main, index) == Role::Gradient)
      gradients[getResultName(main, index)].push_back(&operand);
  }
  writeLayers();
  // A whole step without any evaluates.
  const bool evaluates =
      results.empty() && gradients.empty() &&
      main->getParentOfType<ModuleOp>()->hasAttr(attrs::kLevel);
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (getArgRole(main, index) != Role::Param)
      continue;
    auto update = updates.find(getArgName(main, index));
    if (update == updates.end() && !evaluates)
      return main.emitError("expects an update of parameter \"")
             << getArgName(main, index) << "\" to share out for zero = " << zero
             << ", got none; pp-add-optimizer adds it";
    splitParameter(argument, update == updates.end()
                                 ? ArrayRef<Operation *>()
                                 : ArrayRef<Operation *>(update->second));
  }
  return success();
}

LogicalResult pp::writeParameterLayouts(func::FuncOp main, int64_t zero,
                                        bool gathersOnce,
                                        GetSharedOut getSharedOut) {
  LayoutWriter writer(main, zero, gathersOnce, getSharedOut);
  if (failed(writer.run()))
    return failure();
  // Layers are found in the forward pass, which this changes.
  writer.convertParametersOnce();
  return success();
}
