//===- LowerToPrograms.cpp - unroll the schedule into instructions --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes level 3 with formed kernels and a schedule; adds one pp.program per
// stage. @main stays as the table of arguments and results (its body is
// dropped: the programs replace it). Every value has a slot of its own: what a
// kernel overwrites is copied first, and pp-share-slots finds the copies that
// need not be.
//
//===----------------------------------------------------------------------===//
#include "MicroBatchSums.h"
#include "ParallelCopy.h"
#include "ProgramWriter.h"
#include "pp/Schedule/Schedule.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/VerifyPipeline.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_LOWERTOPROGRAMS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// A fragment, and the micro-batch that the schedule runs it for; -1 for none.
using Run = std::pair<FragmentOp, int64_t>;

/// What each stage runs, in order.
using StageRuns = std::vector<std::vector<Run>>;

FragmentOp findFragment(func::FuncOp main, Phase phase, int64_t stage) {
  for (auto fragment : main.getOps<FragmentOp>())
    if (fragment.getPhase() == phase &&
        static_cast<int64_t>(fragment.getStage()) == stage)
      return fragment;
  return {};
}

StageRuns listRuns(func::FuncOp main, ScheduleAttr schedule) {
  StageRuns stages;
  for (auto [stage, actions] : llvm::enumerate(schedule.getRanks())) {
    std::vector<Run> &runs = stages.emplace_back();
    llvm::DenseMap<int, FragmentOp> fragments;
    for (Phase phase : {Phase::Prologue, Phase::Forward, Phase::Backward,
                        Phase::Weight, Phase::Update})
      fragments[int(phase)] = findFragment(main, phase, stage);
    auto add = [&](Phase phase, int64_t microBatch) {
      if (FragmentOp fragment = fragments.lookup(int(phase)))
        runs.push_back({fragment, microBatch});
    };
    add(Phase::Prologue, -1);
    SmallVector<StringRef> words;
    actions.getValue().split(words, ' ', -1, /*KeepEmpty=*/false);
    for (StringRef word : words) {
      std::optional<schedule::Action> action =
          schedule::parseAction(word.str());
      add(action->kind == schedule::Kind::Forward    ? Phase::Forward
          : action->kind == schedule::Kind::Backward ? Phase::Backward
                                                     : Phase::Weight,
          action->microBatch);
    }
    add(Phase::Update, -1);
  }
  return stages;
}

/// Writes the program of one stage.
class StageLowering {
public:
  StageLowering(func::FuncOp main, SumKernels &sumKernels,
                const StageRuns &runs, int64_t stage, ArrayRef<int64_t> ranks)
      : main(main), module(main->getParentOfType<ModuleOp>()), symbols(module),
        runs(runs), stage(stage), received(runs.size()),
        writer(module, ("stage" + Twine(stage)).str(), ranks),
        sums(sumKernels, writer) {}

  LogicalResult run();

private:
  void addArguments();
  LogicalResult lowerFragment(FragmentOp fragment, int64_t microBatch);
  LogicalResult lowerLaunch(LaunchOp launch, int64_t microBatch);
  void lowerCollective(Operation &op, FragmentOp fragment);
  LogicalResult lowerReturn();

  /// The slot that holds `value` of @main for a micro-batch, loading or
  /// receiving it on the first call; reports to `reader` if none does.
  FailureOr<int64_t> obtain(Value value, int64_t microBatch, Operation *reader);
  void receiveUpTo(TransferOp transfer, int64_t microBatch);
  void receiveGroup(FragmentOp source, int64_t microBatch);
  void sendResults(FragmentOp fragment, int64_t microBatch);
  /// Chooses where the values are written that are added up.
  void chooseDestinations(FragmentOp fragment);
  SlotClass classOf(FragmentOp fragment, Value bodyValue);

  /// What the prologue and the update compute exists once a step, all else once
  /// per micro-batch; without micro-batches that is once, too.
  static int64_t instanceOf(Value value, int64_t microBatch);
  static int64_t instanceOf(FragmentOp fragment, int64_t microBatch);

  func::FuncOp main;
  ModuleOp module;
  SymbolTable symbols; ///< the kernels that fragments launch
  const StageRuns &runs;
  int64_t stage;
  /// Per stage: how many of its runs have sent all they have for this one.
  SmallVector<size_t> received;
  ProgramWriter writer;
  MicroBatchSums sums;
  llvm::DenseMap<std::pair<Value, int64_t>, int64_t>
      instances;                        ///< values of @main
  llvm::DenseMap<Value, int64_t> local; ///< values of the current fragment
  /// A slot chosen before it is written, and whether it already holds a sum.
  struct Destination {
    int64_t slot;
    bool adds;
  };
  llvm::DenseMap<Value, Destination> destination;
};

/// True for the phases that are run once a step.
bool isOncePerStep(Phase phase) {
  return phase == Phase::Prologue || phase == Phase::Update;
}

int64_t StageLowering::instanceOf(Value value, int64_t microBatch) {
  if (auto transfer = value.getDefiningOp<TransferOp>())
    return instanceOf(transfer.getOperand(), microBatch);
  if (auto fragment = value.getDefiningOp<FragmentOp>())
    return instanceOf(fragment, microBatch);
  return std::max<int64_t>(microBatch, 0);
}

int64_t StageLowering::instanceOf(FragmentOp fragment, int64_t microBatch) {
  return isOncePerStep(fragment.getPhase()) ? -1
                                            : std::max<int64_t>(microBatch, 0);
}

void StageLowering::addArguments() {
  for (BlockArgument arg : main.getArguments()) {
    unsigned index = arg.getArgNumber();
    std::optional<Role> role = getArgRole(main, index);
    auto stages =
        main.getArgAttrOfType<DenseI64ArrayAttr>(index, attrs::kStages);
    if ((role != Role::Param && role != Role::State) ||
        (stages && !llvm::is_contained(stages.asArrayRef(), stage)))
      continue;
    SlotClass slotClass =
        role == Role::Param ? SlotClass::Parameter : SlotClass::Optimizer;
    instances[{arg, -1}] = writer.addSlot(getArgName(main, index), slotClass,
                                          arg.getType(), index);
  }
}

LogicalResult StageLowering::run() {
  addArguments();
  for (auto [fragment, microBatch] : runs[stage])
    if (failed(lowerFragment(fragment, microBatch)))
      return failure();
  if (failed(lowerReturn()))
    return failure();
  writer.step();
  return success();
}

FailureOr<int64_t> StageLowering::obtain(Value value, int64_t microBatch,
                                         Operation *reader) {
  if (auto sum = value.getDefiningOp<AccumulateOp>()) {
    if (auto slot = sums.getTotal(cast<OpResult>(sum.getOperand())))
      return *slot;
  } else if (auto arg = dyn_cast<BlockArgument>(value)) {
    if (auto held = instances.find({value, -1}); held != instances.end())
      return held->second;
    auto [it, isNew] =
        instances.try_emplace({value, instanceOf(value, microBatch)}, -1);
    if (isNew) {
      it->second = writer.addSlot(getArgName(main, arg.getArgNumber()),
                                  SlotClass::Input, value.getType());
      writer.load(it->second, arg.getArgNumber());
    }
    return it->second;
  } else {
    std::pair<Value, int64_t> key{value, instanceOf(value, microBatch)};
    if (auto transfer = value.getDefiningOp<TransferOp>();
        transfer && !instances.contains(key))
      receiveUpTo(transfer, key.second);
    if (auto it = instances.find(key); it != instances.end())
      return it->second;
  }
  InFlightDiagnostic diagnostic = reader->emitOpError()
                                  << "expects a value that stage " << stage
                                  << " has by then";
  if (microBatch >= 0)
    diagnostic << " for micro-batch " << microBatch;
  diagnostic << "; pp.schedule runs what computes it later, or not at all";
  diagnostic.attachNote(value.getLoc()) << "computed here";
  return diagnostic;
}

/// Receives `transfer`, and before it all that its source stage sends here
/// earlier: what two stages exchange in one direction arrives in order.
void StageLowering::receiveUpTo(TransferOp transfer, int64_t microBatch) {
  auto source = transfer.getOperand().getDefiningOp<FragmentOp>();
  ArrayRef<Run> ofSource = runs[transfer.getSource()];
  size_t &next = received[transfer.getSource()];
  const Run *wanted =
      llvm::find_if(ofSource.drop_front(next), [&](const Run &run) {
        return run.first == source &&
               instanceOf(run.first, run.second) == microBatch;
      });
  if (wanted == ofSource.end())
    return;
  for (const Run *run = ofSource.begin() + next; run <= wanted; ++run, ++next)
    receiveGroup(run->first, instanceOf(run->first, run->second));
}

/// Receives everything that one run of a fragment sends here, in the order in
/// which it is sent.
void StageLowering::receiveGroup(FragmentOp source, int64_t microBatch) {
  InstructionTag own = writer.getTag();
  // Both ends of a transfer are named after the work that sends.
  writer.setTag(
      {source.getPhase(), static_cast<int64_t>(source.getStage()), microBatch});
  for (auto other : main.getOps<TransferOp>()) {
    if (other.getOperand().getDefiningOp() != source.getOperation() ||
        static_cast<int64_t>(other.getTarget()) != stage)
      continue;
    int64_t slot =
        writer.addSlot("recv", SlotClass::Communication, other.getType());
    writer.recv(slot, other.getSource());
    instances[{other.getResult(), microBatch}] = slot;
  }
  writer.setTag(own);
}

void StageLowering::sendResults(FragmentOp fragment, int64_t microBatch) {
  for (auto transfer : main.getOps<TransferOp>())
    if (transfer.getOperand().getDefiningOp() == fragment.getOperation())
      writer.send(instances.at({transfer.getOperand(),
                                instanceOf(transfer, microBatch)}),
                  transfer.getTarget());
}

SlotClass StageLowering::classOf(FragmentOp fragment, Value bodyValue) {
  if (fragment.getPhase() == Phase::Forward)
    return SlotClass::Activation;
  for (OpOperand &use : bodyValue.getUses()) {
    if (!isa<YieldOp>(use.getOwner()))
      continue;
    for (Operation *user :
         fragment.getResult(use.getOperandNumber()).getUsers()) {
      auto consumer = dyn_cast<FragmentOp>(user);
      if (isa<AccumulateOp>(user) ||
          (consumer && consumer.getPhase() == Phase::Update))
        return SlotClass::Gradient;
    }
  }
  return SlotClass::Activation;
}

LogicalResult StageLowering::lowerFragment(FragmentOp fragment,
                                           int64_t microBatch) {
  Block &body = fragment.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  writer.setTag({fragment.getPhase(), stage, microBatch});
  local.clear();
  for (auto [operand, arg] :
       llvm::zip_equal(fragment.getOperands(), body.getArguments())) {
    FailureOr<int64_t> slot = obtain(operand, microBatch, fragment);
    if (failed(slot))
      return failure();
    local[arg] = *slot;
  }
  chooseDestinations(fragment);
  for (Operation &op : body.without_terminator()) {
    writer.setLoc(op.getLoc());
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      if (failed(lowerLaunch(launch, microBatch)))
        return failure();
    } else if (isCollective(&op)) {
      lowerCollective(op, fragment);
    } else {
      return op.emitOpError()
             << "expects a launch or a collective in a fragment; "
                "pp-form-kernels should have put it into a kernel";
    }
  }
  for (auto [result, value] :
       llvm::zip_equal(fragment->getResults(), yield.getOperands())) {
    int64_t slot = local.at(value);
    instances[{result, instanceOf(result, microBatch)}] = slot;
    if (llvm::any_of(result.getUsers(), llvm::IsaPred<AccumulateOp>))
      sums.add(result, slot);
  }
  sendResults(fragment, microBatch);
  return success();
}

/// The first contribution to a sum is written into its slot; a contraction adds
/// those that follow.
void StageLowering::chooseDestinations(FragmentOp fragment) {
  destination.clear();
  auto yield = cast<YieldOp>(fragment.getBody().front().getTerminator());
  for (auto [result, value] :
       llvm::zip_equal(fragment->getResults(), yield.getOperands())) {
    auto launch = value.getDefiningOp<LaunchOp>();
    if (result.use_empty() || !launch || !value.hasOneUse() ||
        !MicroBatchSums::mayGoToSlot(result))
      continue;
    auto kernel = symbols.lookup<func::FuncOp>(launch.getCallee());
    if (!kernel ||
        getInplaceOperand(kernel, cast<OpResult>(value).getResultNumber()) >= 0)
      continue;
    bool adds = sums.isStarted(result);
    if (!adds || getKernelKind(kernel) == KernelKind::Contraction)
      destination[value] = {sums.getSlot(result), adds};
  }
}

LogicalResult StageLowering::lowerLaunch(LaunchOp launch, int64_t microBatch) {
  auto kernel = symbols.lookup<func::FuncOp>(launch.getCallee());
  auto type = FunctionType::get(launch.getContext(), launch.getOperandTypes(),
                                launch.getResultTypes());
  if (!kernel || kernel.getFunctionType() != type)
    return launch.emitOpError() << "expects a kernel " << launch.getCallee()
                                << " of type " << type << " (launch_c1)";
  auto fragment = launch->getParentOfType<FragmentOp>();
  bool adds = llvm::any_of(launch.getResults(), [&](Value result) {
    auto chosen = destination.find(result);
    return chosen != destination.end() && chosen->second.adds;
  });
  // What is overwritten may be read again.
  llvm::DenseMap<int64_t, int64_t> overwritten; // slots by operand
  for (auto [index, result] : llvm::enumerate(launch.getResults()))
    if (int64_t operand = getInplaceOperand(kernel, index); operand >= 0) {
      int64_t slot = writer.addSlot(
          kernel.getSymName(), classOf(fragment, result), result.getType());
      writer.copy(local.at(launch.getOperand(operand)), slot);
      overwritten[operand] = slot;
    }
  SmallVector<int64_t> slots;
  for (const RunParameter &parameter : getRunParameters(kernel)) {
    switch (parameter.source) {
    case RunParameter::Source::Operand:
      if (auto own = overwritten.find(parameter.index);
          own != overwritten.end())
        slots.push_back(own->second);
      else
        slots.push_back(local.at(launch.getOperand(parameter.index)));
      break;
    case RunParameter::Source::Result: {
      Value result = launch.getResult(parameter.index);
      auto chosen = destination.find(result);
      int64_t slot =
          chosen != destination.end()
              ? chosen->second.slot
              : writer.addSlot(kernel.getSymName(), classOf(fragment, result),
                               result.getType());
      local[result] = slot;
      slots.push_back(slot);
      break;
    }
    case RunParameter::Source::Workspace: {
      auto bytes = RankedTensorType::get(
          {parameter.bytes}, IntegerType::get(module.getContext(), 1));
      slots.push_back(writer.addSlot("workspace", SlotClass::Workspace, bytes));
      break;
    }
    }
  }
  for (auto [index, result] : llvm::enumerate(launch.getResults()))
    if (int64_t operand = getInplaceOperand(kernel, index); operand >= 0)
      local[result] = overwritten.at(operand);
  writer.run(kernel, slots, adds);
  return success();
}

void StageLowering::lowerCollective(Operation &op, FragmentOp fragment) {
  SmallVector<int64_t> slots;
  for (Value operand : op.getOperands())
    slots.push_back(local.at(operand));
  for (OpResult result : op.getResults()) {
    local[result] = writer.addSlot(op.getName().stripDialect(),
                                   classOf(fragment, result), result.getType());
    slots.push_back(local[result]);
  }
  writer.collective(&op, slots);
}

/// Results that are no arguments go to the driver; then all others go back to
/// their arguments' slots at once, since one may be the old value of another.
LogicalResult StageLowering::lowerReturn() {
  Operation *terminator = main.getBody().front().getTerminator();
  writer.setLoc(terminator->getLoc());
  writer.setTag({Phase::Update, stage, -1});
  llvm::StringMap<unsigned> arguments = getArgsByName(main);
  SmallVector<SlotCopy> copies;
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    auto stages =
        main.getResultAttrOfType<DenseI64ArrayAttr>(index, attrs::kStages);
    if (stages && !llvm::is_contained(stages.asArrayRef(), stage))
      continue;
    FailureOr<int64_t> slot = obtain(value, -1, terminator);
    if (failed(slot))
      return failure();
    std::optional<Role> role = getResultRole(main, index);
    if (role != Role::Param && role != Role::State) {
      writer.emit(*slot, index);
      continue;
    }
    Value argument =
        main.getArgument(arguments.lookup(getResultName(main, index)));
    copies.push_back({*slot, instances.at({argument, -1}), argument.getType()});
  }
  for (SlotCopy copy : putInSequence(copies, [&](Type type) {
         return writer.addSlot("old", SlotClass::Activation, type);
       }))
    writer.copy(copy.source, copy.target);
  return success();
}

struct LowerToProgramsPass
    : pp::impl::LowerToProgramsBase<LowerToProgramsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto main = lookupSplitMain(module);
    MeshOp mesh = lookupMesh(module);
    if (failed(main))
      return signalPassFailure();
    auto schedule = (*main)->getAttrOfType<ScheduleAttr>(attrs::kSchedule);
    if (!mesh || !schedule) {
      module.emitError("expects a mesh and a schedule; pp-make-plan and "
                       "pp-schedule add them");
      return signalPassFailure();
    }
    if (failed(verifyPipeline(*main, mesh.getMesh())))
      return signalPassFailure();
    SumKernels sumKernels(module);
    const StageRuns runs = listRuns(*main, schedule);
    for (size_t stage = 0; stage < runs.size(); ++stage) {
      StageLowering lowering(*main, sumKernels, runs, stage,
                             ranksOf(mesh.getMesh(), stage));
      if (failed(lowering.run()))
        return signalPassFailure();
    }
    dropBody(*main);
    module->setAttr(attrs::kLevel,
                    LevelAttr::get(&getContext(), Level::Program));
  }

  /// Ranks whose coordinate on the stage axis is `stage`, ascending.
  static SmallVector<int64_t> ranksOf(MeshAttr mesh, int64_t stage) {
    SmallVector<int64_t> ranks;
    int64_t devices = mesh.getNumDevices();
    int64_t minor = 1; // devices between two neighbours on the stage axis
    bool behind = false;
    for (MeshAxisAttr axis : mesh.getAxes()) {
      if (axis.getKind() == AxisKind::Stage)
        behind = true;
      else if (behind && axis.getKind() != AxisKind::Time)
        minor *= axis.getSize();
    }
    int64_t stages = mesh.getStageAxis() ? mesh.getStageAxis().getSize() : 1;
    for (int64_t rank = 0; rank < devices; ++rank)
      if (stages == 1 || rank / minor % stages == stage)
        ranks.push_back(rank);
    return ranks;
  }

  /// Leaves the declaration: names, roles, types and places of arguments and
  /// results.
  static void dropBody(func::FuncOp main) {
    main.getBody().dropAllReferences();
    main.getBody().getBlocks().clear();
    main.setPrivate();
  }
};

} // namespace
