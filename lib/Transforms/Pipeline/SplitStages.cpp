//===- SplitStages.cpp - cut a step into fragments and transfers ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes a level 2 step whose per-micro-batch ops carry their stage. Leaves a
// @main of fragments, transfers and accumulates. Which op runs where and how
// often is StepPlacement's answer; this file collects the ops of each fragment
// and rebuilds the function.
//
//===----------------------------------------------------------------------===//
#include "StepPlacement.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "pp/IR/Kernel.h"
#include "pp/Transforms/Cause.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_SPLITSTAGES
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// A future fragment: its ops and its inputs and outputs, as values of the
/// function that is split.
struct Draft {
  Phase phase;
  int64_t stage; ///< none for what runs once a step
  int64_t position;
  llvm::SetVector<Operation *> ops; ///< in an order that respects uses
  llvm::SetVector<Value> inputs;
  llvm::SetVector<Value> outputs;

  bool isUpdate() const { return phase == Phase::Update; }
  bool isPrologue() const { return phase == Phase::Prologue; }
};

class StageSplitter {
public:
  StageSplitter(func::FuncOp main, MeshOp mesh, const StepPlacement &placement)
      : main(main), mesh(mesh), placement(placement),
        isSplit(placement.getNumStages()) {
    if (auto schedule = main->getAttrOfType<ScheduleAttr>(attrs::kSchedule))
      for (const std::vector<schedule::Action> &actions :
           schedule.getTable().ranks)
        for (const schedule::Action &action : actions)
          if (action.kind == schedule::Kind::Weight)
            isSplit[action.stage] = true;
    // Readers come first, from behind.
    for (Operation &op : llvm::reverse(main.getBody().front()))
      if (getKind(&op) == Kind::InputGradient || awaited.contains(&op))
        for (Value operand : op.getOperands())
          if (Operation *source = operand.getDefiningOp();
              source && getKind(source) == Kind::WeightGradient)
            awaited.insert(source);
  }

  LogicalResult run();

private:
  LogicalResult collect();
  void sortUpdates();
  LogicalResult verifyHomes();
  /// Adds `op` and, before it, its operands that no other fragment provides.
  void addTo(Draft &draft, Operation *op);
  /// Makes `value` available to `draft`: as an op of it or as an input.
  void require(Draft &draft, Value value);
  /// Makes `value` an input of `draft`, from the position's prologue if it is
  /// computed there.
  void takeIn(Draft &draft, Value value);
  /// The phase in which `stage` runs an op of a micro-batch. Gradients of
  /// weights are apart where the schedule says so.
  Phase phaseOf(Operation *op, int64_t stage) const;
  bool belongsTo(const Draft &draft, Operation *op) const;
  /// The sum over positions by which `draft` gets the result of `op`, or null.
  const PositionSum *getSum(const Draft &draft, Operation *op) const {
    return draft.isUpdate() ? placement.getSum(op->getResult(0)) : nullptr;
  }
  /// The addends of a sum that `draft` contributes.
  SmallVector<Value> getAddends(const Draft &draft,
                                const PositionSum &sum) const;
  /// True for an op of `draft` that is computed there; for a sum, if it is the
  /// draft's addend itself.
  bool isComputedIn(const Draft &draft, Operation *op) const;
  void connect();

  void emit(Draft &draft);
  void emitBody(Draft &draft, Block &block);
  void tellCause(AllReduceOp reduce, Value value, const PositionSum &sum,
                 bool isRemarked);
  Value emitSum(OpBuilder &builder, Value value, const PositionSum &sum,
                const Draft &draft, IRMapping &mapping);
  /// The value of the new function that `position` sees for `value`.
  Value resolve(Value value, int64_t position);
  void emitReturn();
  void setPositionsOfArguments();

  /// That of a stage, or of what runs once a step at a position.
  Draft &draftOf(Phase phase, int64_t number) {
    const int64_t stages = placement.getNumStages(),
                  positions = placement.getNumPositions();
    switch (phase) {
    case Phase::Prologue:
      return drafts[number];
    case Phase::Forward:
      return drafts[positions + number];
    case Phase::Backward:
      return drafts[positions + stages + 2 * (stages - 1 - number)];
    case Phase::Weight:
      return drafts[positions + stages + 2 * (stages - 1 - number) + 1];
    default:
      return drafts[positions + 3 * stages + number];
    }
  }

  func::FuncOp main;
  MeshOp mesh;
  const StepPlacement &placement;
  SmallVector<bool> isSplit; ///< by stage, whether weights' gradients are apart
  /// Gradients of weights that gradients of inputs read, such as a gather that
  /// both share: they stay with these.
  llvm::DenseSet<Operation *> awaited;
  SmallVector<Draft> drafts; ///< in the order they are emitted
  SmallVector<Value> returned;
  OpBuilder builder{main.getContext()};
  /// New value of (old value, position that computes it).
  llvm::DenseMap<std::pair<Value, int64_t>, Value> produced;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> transferred;
};

LogicalResult StageSplitter::run() {
  if (failed(collect()) || failed(verifyHomes()))
    return failure();
  connect();
  Block &old = main.getBody().front();
  Operation *terminator = old.getTerminator();
  builder.setInsertionPoint(terminator);
  SmallVector<Operation *> originals;
  for (Operation &op : old.without_terminator())
    originals.push_back(&op);
  for (Draft &draft : drafts)
    emit(draft);
  emitReturn();
  setPositionsOfArguments();
  for (Operation *op : llvm::reverse(originals))
    op->erase();
  return success();
}

Phase StageSplitter::phaseOf(Operation *op, int64_t stage) const {
  if (getKind(op) == Kind::Forward)
    return Phase::Forward;
  return getKind(op) == Kind::WeightGradient && isSplit[stage] &&
                 !awaited.contains(op)
             ? Phase::Weight
             : Phase::Backward;
}

bool StageSplitter::belongsTo(const Draft &draft, Operation *op) const {
  if (isa<AccumulateOp>(op))
    return false;
  TimeClass timeClass = placement.getTimeClass(op->getResult(0));
  if (timeClass == TimeClass::Invariant)
    return draft.isPrologue() || getKind(op) != Kind::Prologue;
  if (draft.isPrologue())
    return false;
  if (timeClass == TimeClass::PerStep)
    return draft.isUpdate();
  if (draft.isUpdate() ||
      !llvm::is_contained(placement.getStages(op->getResult(0)), draft.stage))
    return false;
  return phaseOf(op, draft.stage) == draft.phase;
}

SmallVector<Value> StageSplitter::getAddends(const Draft &draft,
                                             const PositionSum &sum) const {
  SmallVector<Value> addends;
  for (auto [addend, position] : sum.addends)
    if (position == draft.position)
      addends.push_back(addend);
  return addends;
}

bool StageSplitter::isComputedIn(const Draft &draft, Operation *op) const {
  if (!belongsTo(draft, op))
    return false;
  const PositionSum *sum = getSum(draft, op);
  return !sum || llvm::is_contained(getAddends(draft, *sum), op->getResult(0));
}

void StageSplitter::require(Draft &draft, Value value) {
  Operation *op = value.getDefiningOp();
  if (op && (belongsTo(draft, op) || getSum(draft, op)))
    addTo(draft, op);
  else
    takeIn(draft, value);
}

void StageSplitter::takeIn(Draft &draft, Value value) {
  Operation *op = value.getDefiningOp();
  if (op && getKind(op) == Kind::Prologue)
    addTo(draftOf(Phase::Prologue, draft.position), op);
  draft.inputs.insert(value);
}

void StageSplitter::addTo(Draft &draft, Operation *op) {
  if (draft.ops.contains(op))
    return;
  const PositionSum *sum = getSum(draft, op);
  if (isComputedIn(draft, op)) {
    for (Value operand : op->getOperands())
      require(draft, operand);
  } else {
    for (Value addend : getAddends(draft, *sum))
      if (addend == op->getResult(0))
        takeIn(draft, addend);
      else
        require(draft, addend);
  }
  draft.ops.insert(op);
  // All members take part in a sum, also those that do not need it.
  if (sum)
    for (int64_t position : sum->positions)
      addTo(draftOf(Phase::Update, position), op);
}

LogicalResult StageSplitter::collect() {
  const int64_t stages = placement.getNumStages(),
                positions = placement.getNumPositions();
  auto draftPositions = [&](Phase phase) {
    for (int64_t position = 0; position < positions; ++position)
      drafts.push_back({phase, -1, position, {}, {}, {}});
  };
  auto draftStage = [&](Phase phase, int64_t stage) {
    drafts.push_back({phase, stage, placement.getPosition(stage), {}, {}, {}});
  };
  draftPositions(Phase::Prologue);
  for (int64_t stage = 0; stage < stages; ++stage)
    draftStage(Phase::Forward, stage);
  for (int64_t stage = stages - 1; stage >= 0; --stage) {
    draftStage(Phase::Backward, stage);
    draftStage(Phase::Weight, stage);
  }
  draftPositions(Phase::Update);

  Block &body = main.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (!op.getNumResults() ||
        placement.getTimeClass(op.getResult(0)) != TimeClass::PerMicroBatch)
      continue;
    const int64_t stage = placement.getStages(op.getResult(0)).front();
    addTo(draftOf(phaseOf(&op, stage), stage), &op);
  }
  // A program that evaluates has the cuts of training, and may lack all ops of
  // a stage, such as a dropout.
  const bool trains = llvm::any_of(drafts, [](Draft &draft) {
    return (draft.phase == Phase::Backward || draft.phase == Phase::Weight) &&
           !draft.ops.empty();
  });
  for (int64_t stage = 0; trains && stage < stages; ++stage)
    if (draftOf(Phase::Forward, stage).ops.empty())
      return main.emitError("expects work on every stage, got none on stage ")
             << stage;

  returned.assign(body.getTerminator()->operand_begin(),
                  body.getTerminator()->operand_end());
  for (auto [index, value] : llvm::enumerate(returned))
    for (int64_t position : placement.getResultPositions(index)) {
      Draft &update = draftOf(Phase::Update, position);
      Operation *op = value.getDefiningOp();
      if (op && (belongsTo(update, op) || getSum(update, op)))
        addTo(update, op);
    }
  sortUpdates();
  return success();
}

/// Puts the updates into the order of the step: positions that meet in several
/// sums must do so in one order.
void StageSplitter::sortUpdates() {
  for (Draft &draft : drafts) {
    if (!draft.isUpdate())
      continue;
    SmallVector<Operation *> ops = draft.ops.takeVector();
    llvm::sort(
        ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    draft.ops.insert(ops.begin(), ops.end());
  }
}

/// Checks that a position holds the parameters and states it reads, also
/// through ops that depend on them alone, which are repeated for each user.
LogicalResult StageSplitter::verifyHomes() {
  for (const Draft &draft : drafts)
    for (Value input : draft.inputs) {
      auto argument = dyn_cast<BlockArgument>(input);
      if (!argument)
        continue;
      unsigned index = argument.getArgNumber();
      std::optional<Role> role = getArgRole(main, index);
      bool isHeld = role == Role::Param || role == Role::State;
      ArrayRef<int64_t> home = placement.getHome(argument);
      if (isHeld && !llvm::is_contained(home, draft.position))
        return main.emitError("expects every position that uses \"")
               << getArgName(main, index)
               << "\" to hold it, got a use at position " << draft.position
               << " and it at positions [" << home
               << "]; cut ops that depend on parameters alone together with "
                  "their uses";
    }
  return success();
}

/// Inputs of one fragment are results of another one.
void StageSplitter::connect() {
  auto exportFrom = [&](Value value) {
    if (auto accumulate = value.getDefiningOp<AccumulateOp>())
      value = accumulate.getOperand();
    Operation *op = value.getDefiningOp();
    if (!op)
      return;
    for (Draft &draft : drafts)
      if (draft.ops.contains(op) && belongsTo(draft, op) &&
          (draft.isPrologue() ||
           placement.getTimeClass(value) != TimeClass::Invariant))
        draft.outputs.insert(value);
  };
  for (Draft &draft : drafts)
    for (Value input : draft.inputs)
      exportFrom(input);
  for (auto [index, value] : llvm::enumerate(returned))
    for (int64_t position : placement.getResultPositions(index)) {
      Draft &update = draftOf(Phase::Update, position);
      if (value.getDefiningOp() && update.ops.contains(value.getDefiningOp()))
        update.outputs.insert(value);
      else
        exportFrom(value);
    }
}

Value StageSplitter::resolve(Value value, int64_t position) {
  if (isa<BlockArgument>(value))
    return value;
  if (Value here = produced.lookup({value, position}))
    return here;
  if (auto accumulate = value.getDefiningOp<AccumulateOp>()) {
    Value sum = AccumulateOp::create(builder, accumulate.getLoc(),
                                     resolve(accumulate.getOperand(), position),
                                     accumulate.getAxisAttr());
    produced[{value, position}] = sum;
    return sum;
  }
  Value &copy = transferred[{value, position}];
  if (!copy) {
    int64_t source = placement.getPosition(placement.getStages(value).front());
    copy = TransferOp::create(builder, value.getLoc(),
                              produced.at({value, source}), source, position);
  }
  return copy;
}

/// Every position that takes part has the op and its cause; of the remarks one
/// speaks for all.
void StageSplitter::tellCause(AllReduceOp reduce, Value value,
                              const PositionSum &sum, bool isRemarked) {
  StringRef name = findParameterOfGradient(value);
  std::string cause =
      name.empty() ? "parts of " +
                         value.getDefiningOp()->getName().getStringRef().str() +
                         " are on several stages"
                   : "gradient of \"" + name.str() +
                         "\", which is used on several stages";
  Cause facts;
  facts.text = cause;
  facts.gradientOf = name.str();
  reduce->setLoc(facts.attachTo(reduce.getLoc()));
  if (!isRemarked)
    return;
  double members = sum.positions.size();
  remarkCollective(reduce, "pp-split-stages", cause, mesh.getMesh(),
                   mesh.getMesh().getStageAxis().getName(), sum.positions,
                   2 * (members - 1) / members *
                       getTensorBytes(value.getType()));
}

/// The position's addends in order, or zeros, then the reduction over all.
Value StageSplitter::emitSum(OpBuilder &builder, Value value,
                             const PositionSum &sum, const Draft &draft,
                             IRMapping &mapping) {
  Location loc = value.getLoc();
  Value local;
  for (Value addend : getAddends(draft, sum)) {
    Value part = mapping.lookup(addend);
    if (!local) {
      local = part;
      continue;
    }
    local = AddOp::create(builder, loc, local.getType(), local, part);
    setKind(local.getDefiningOp(), Kind::Update);
  }
  if (!local) {
    auto zeros = cast<ElementsAttr>(builder.getZeroAttr(value.getType()));
    local = ConstantOp::create(builder, loc, value.getType(), zeros);
    setKind(local.getDefiningOp(), Kind::Update);
  }
  MLIRContext *context = builder.getContext();
  auto meshName = FlatSymbolRefAttr::get(context, mesh.getSymName());
  auto axes = builder.getArrayAttr({mesh.getMesh().getStageAxis().getName()});
  auto positions = int64_t(sum.positions.size()) == placement.getNumPositions()
                       ? DenseI64ArrayAttr()
                       : DenseI64ArrayAttr::get(context, sum.positions);
  // A truth value that one position has.
  const Reduction reduction = getElementTypeOrSelf(local.getType()).isInteger(1)
                                  ? Reduction::Or
                                  : Reduction::Sum;
  auto reduce =
      AllReduceOp::create(builder, loc, TypeRange(local.getType()),
                          ReductionAttr::get(context, reduction),
                          ValueRange(local), meshName, axes, positions);
  setKind(reduce, Kind::Update);
  tellCause(reduce, value, sum,
            /*isRemarked=*/draft.position == sum.positions.front());
  return reduce.getResult(0);
}

void StageSplitter::emitBody(Draft &draft, Block &block) {
  IRMapping mapping;
  for (Value input : draft.inputs)
    mapping.map(input, block.addArgument(input.getType(), input.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  for (Operation *op : draft.ops) {
    if (isComputedIn(draft, op))
      inner.clone(*op, mapping)->removeAttr(attrs::kStages);
    if (const PositionSum *sum = getSum(draft, op)) {
      Value value = op->getResult(0);
      mapping.map(value, emitSum(inner, value, *sum, draft, mapping));
    }
  }
  SmallVector<Value> yielded;
  for (Value output : draft.outputs)
    yielded.push_back(mapping.lookup(output));
  YieldOp::create(inner, main.getLoc(), yielded);
}

void StageSplitter::emit(Draft &draft) {
  if (draft.ops.empty())
    return;
  SmallVector<Value> operands;
  for (Value input : draft.inputs)
    operands.push_back(resolve(input, draft.position));
  SmallVector<Type> types;
  for (Value output : draft.outputs)
    types.push_back(output.getType());
  auto fragment = FragmentOp::create(builder, main.getLoc(), types, draft.phase,
                                     draft.stage, draft.position, operands);
  emitBody(draft, fragment.getBody().emplaceBlock());
  for (auto [output, result] :
       llvm::zip_equal(draft.outputs, fragment.getResults()))
    produced.try_emplace({output, draft.position}, result);
}

/// Results keep their order; copies of a parameter at further positions follow.
void StageSplitter::emitReturn() {
  SmallVector<Value> values;
  SmallVector<Attribute> attributes;
  SmallVector<std::pair<unsigned, int64_t>> copies;
  auto add = [&](unsigned index, int64_t position) {
    values.push_back(resolve(returned[index], position));
    NamedAttrList attrs(main.getResultAttrDict(index));
    attrs.set(attrs::kPositions, builder.getDenseI64ArrayAttr(position));
    attributes.push_back(attrs.getDictionary(builder.getContext()));
  };
  for (unsigned index = 0; index < returned.size(); ++index) {
    ArrayRef<int64_t> positions = placement.getResultPositions(index);
    add(index, positions.front());
    for (int64_t position : positions.drop_front())
      copies.push_back({index, position});
  }
  for (auto [index, position] : copies)
    add(index, position);
  main.getBody().front().getTerminator()->setOperands(values);
  main.setFunctionType(builder.getFunctionType(main.getArgumentTypes(),
                                               ValueRange(values).getTypes()));
  main.setResAttrsAttr(builder.getArrayAttr(attributes));
}

/// From here on arguments lie at positions: stages are what fragments are of.
void StageSplitter::setPositionsOfArguments() {
  SmallVector<DictionaryAttr> all = getAllArgAttrs(main);
  for (auto [argument, attributes] :
       llvm::zip_equal(main.getArguments(), all)) {
    NamedAttrList list(attributes);
    if (list.erase(attrs::kStages))
      list.set(attrs::kPositions,
               builder.getDenseI64ArrayAttr(placement.getHome(argument)));
    attributes = list.getDictionary(builder.getContext());
  }
  main.setAllArgAttrs(all);
}

struct SplitStagesPass : pp::impl::SplitStagesBase<SplitStagesPass> {
  void runOnModule() override {
    ModuleOp module = getOperation();
    auto main = lookupMain(module);
    MeshOp mesh = lookupMesh(module);
    if (failed(main))
      return signalPassFailure();
    if (!mesh) {
      module.emitError("expects a pp.mesh op; pp-make-plan adds it");
      return signalPassFailure();
    }
    const auto &placement = getAnalysis<StepPlacementAnalysis>().placement;
    if (failed(placement) ||
        failed(StageSplitter(*main, mesh, *placement).run()))
      return signalPassFailure();
    module->setAttr(attrs::kLevel,
                    LevelAttr::get(&getContext(), Level::Pipeline));
  }
};

} // namespace
