//===- LowerToPrograms.cpp - instructions for a schedule's actions --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes level 3 with formed kernels and a schedule; adds one pp.program per
// position. @main stays as the table of arguments and results (its body is
// dropped: the programs replace it). Every value has a separate slot, with a
// copy for each micro-batch: operands that a kernel overwrites are copied
// first, and pp-share-slots finds the unnecessary copies. A fragment is lowered
// once, as a routine, for all micro-batches for which it does the same: one may
// load an input that others find loaded, or begin a sum that others add to.
//
//===----------------------------------------------------------------------===//
#include "KernelClusters.h"
#include "MicroBatchSums.h"
#include "PositionRuns.h"
#include "ProgramWriter.h"
#include "SlotClasses.h"
#include "Slots.h"
#include "pp/Analysis/ModuleTarget.h"
#include "pp/Transforms/Passes.h"
#include <map>

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_LOWERTOPROGRAMS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// By the fragment whose results they send.
using Transfers = llvm::DenseMap<Operation *, SmallVector<TransferOp>>;

/// Writes the program of one position.
class PositionLowering {
public:
  PositionLowering(func::FuncOp main, SumKernels &sumKernels,
                   ArrayRef<PositionRuns> positions, int64_t position,
                   ArrayRef<int64_t> ranks, int64_t microBatches,
                   const Transfers &transfers)
      : main(main), module(main->getParentOfType<ModuleOp>()), symbols(module),
        positions(positions), position(position), microBatches(microBatches),
        transfers(transfers),
        writer(module, nameOf(position, positions), ranks),
        sums(sumKernels, writer) {}

  LogicalResult run();

private:
  /// `stage1`, or where positions have several stages `position1`.
  static std::string nameOf(int64_t position, ArrayRef<PositionRuns> all);
  void addArguments();
  LogicalResult lowerRun(Run run);
  LogicalResult checkOperands(Run run);
  /// What tells apart the runs of a fragment: per operand whether it is loaded,
  /// per result whether it begins a sum.
  std::vector<bool> describeRun(Run run) const;
  bool isToBeLoaded(Value operand, int64_t microBatch) const;
  LogicalResult lowerFragment(FragmentOp fragment, int64_t microBatch);
  LogicalResult lowerLaunch(LaunchOp launch);
  void lowerCollective(Operation &op, FragmentOp fragment);
  LogicalResult lowerReturn();

  /// The slot that holds `value` of @main for a micro-batch, loading it on the
  /// first call; reports to `reader` if none does.
  FailureOr<int64_t> obtain(Value value, int64_t microBatch, Operation *reader);
  void receiveResults(Run source);
  void sendResults(FragmentOp fragment);
  /// A slot for a value of a fragment.
  int64_t addSlot(StringRef name, FragmentOp fragment, Value bodyValue);
  int64_t countCopies(FragmentOp fragment, Value bodyValue) const;
  bool goesToSum(FragmentOp fragment, Value bodyValue) const;
  /// Chooses where the values are written that are added up.
  void chooseDestinations(FragmentOp fragment);
  static int64_t instanceOf(Value value, int64_t microBatch);
  /// `1F`: the action without its micro-batch.
  static std::string nameOf(FragmentOp fragment);
  static bool isAddedUp(OpResult result) {
    return llvm::any_of(result.getUsers(), llvm::IsaPred<AccumulateOp>);
  }
  /// Whether a value of @main is a parameter or state, which has a slot here.
  bool isHeld(Value value) const {
    auto argument = cast<BlockArgument>(value);
    std::optional<Role> role = getArgRole(main, argument.getArgNumber());
    return (role == Role::Param || role == Role::State) &&
           slots.contains(value);
  }
  /// Whether a result is what each micro-batch predicts.
  bool isEmittedAtOnce(OpOperand &result) const {
    auto fragment = result.get().getDefiningOp<FragmentOp>();
    return fragment && !isOncePerStep(fragment.getPhase()) &&
           getResultRole(main, result.getOperandNumber()) == Role::Prediction;
  }

  func::FuncOp main;
  ModuleOp module;
  SymbolTable symbols; ///< the kernels that fragments launch
  ArrayRef<PositionRuns> positions;
  int64_t position, microBatches;
  const Transfers &transfers;
  ProgramWriter writer;
  MicroBatchSums sums;
  llvm::DenseMap<Value, int64_t> slots; ///< of values of @main
  llvm::DenseSet<int64_t> received;     ///< slots
  llvm::DenseMap<Value, int64_t> local; ///< values of the current fragment
  bool beginsSums = false;              ///< the current run
  /// What there is by now, for a micro-batch or -1: results of fragments,
  /// values of transfers, and inputs.
  llvm::DenseSet<std::pair<Operation *, int64_t>> available;
  llvm::DenseSet<std::pair<Value, int64_t>> loaded;
  /// By fragment and kind of run; by fragment whose results are received.
  std::map<std::pair<Operation *, std::vector<bool>>, RoutineOp> routines;
  /// Slots of values of fragments, by name, with a copy for each micro-batch.
  std::map<std::pair<const void *, std::string>, int64_t> repeated;
  llvm::DenseMap<Operation *, RoutineOp> receiveRoutines;
  /// A slot chosen before it is written, and whether it already holds a sum.
  struct Destination {
    int64_t slot;
    bool adds;
  };
  llvm::DenseMap<Value, Destination> destination;
};

std::string PositionLowering::nameOf(int64_t position,
                                     ArrayRef<PositionRuns> all) {
  const bool haveOne = llvm::all_of(all[position].runs, [&](const Run &run) {
    return FragmentOp(run.fragment).getStageOrPosition() == position;
  });
  return (haveOne ? "stage" : "position") + std::to_string(position);
}

std::string PositionLowering::nameOf(FragmentOp fragment) {
  static constexpr char letters[] = "PFBWU";
  return std::to_string(fragment.getStageOrPosition()) +
         letters[int(fragment.getPhase())];
}

int64_t PositionLowering::instanceOf(Value value, int64_t microBatch) {
  if (auto transfer = value.getDefiningOp<TransferOp>())
    return instanceOf(transfer.getOperand(), microBatch);
  if (auto fragment = value.getDefiningOp<FragmentOp>())
    return pp::instanceOf(fragment, microBatch);
  return std::max<int64_t>(microBatch, 0);
}

void PositionLowering::addArguments() {
  for (BlockArgument arg : main.getArguments()) {
    unsigned index = arg.getArgNumber();
    std::optional<Role> role = getArgRole(main, index);
    auto holders =
        main.getArgAttrOfType<DenseI64ArrayAttr>(index, attrs::kPositions);
    if ((role != Role::Param && role != Role::State) ||
        (holders && !llvm::is_contained(holders.asArrayRef(), position)))
      continue;
    SlotClass slotClass =
        role == Role::Param ? SlotClass::Parameter : SlotClass::Optimizer;
    slots[arg] = writer.addArgument(getArgName(main, index), slotClass,
                                    arg.getType(), index);
  }
}

LogicalResult PositionLowering::run() {
  addArguments();
  const PositionRuns &list = positions[position];
  for (size_t i = 0; i <= list.runs.size(); ++i) {
    for (RunPlace source : list.receives[i])
      receiveResults(positions[source.position].runs[source.index]);
    if (i < list.runs.size() && failed(lowerRun(list.runs[i])))
      return failure();
  }
  if (failed(lowerReturn()))
    return failure();
  writer.step();
  writer.finish();
  return success();
}

bool PositionLowering::isToBeLoaded(Value operand, int64_t microBatch) const {
  return isa<BlockArgument>(operand) && !isHeld(operand) &&
         !loaded.contains({operand, instanceOf(operand, microBatch)});
}

std::vector<bool> PositionLowering::describeRun(Run run) const {
  std::vector<bool> kind;
  for (Value operand : run.fragment.getOperands())
    kind.push_back(isToBeLoaded(operand, run.microBatch));
  for (OpResult result : run.fragment->getResults())
    kind.push_back(isAddedUp(result) && !sums.isStarted(result));
  return kind;
}

LogicalResult PositionLowering::checkOperands(Run run) {
  for (Value operand : run.fragment.getOperands())
    if (Operation *maker = operand.getDefiningOp();
        maker && !isa<AccumulateOp>(maker) &&
        !available.contains({maker, instanceOf(operand, run.microBatch)}))
      return reportMissing(run.fragment, position, run.microBatch, operand);
  return success();
}

LogicalResult PositionLowering::lowerRun(Run run) {
  FragmentOp fragment = run.fragment;
  if (failed(checkOperands(run)))
    return failure();
  const std::vector<bool> kind = describeRun(run);
  beginsSums = std::find(kind.begin() + fragment.getNumOperands(), kind.end(),
                         true) != kind.end();
  if (isOncePerStep(fragment.getPhase())) {
    if (failed(lowerFragment(fragment, run.microBatch)))
      return failure();
  } else {
    auto [routine, isNew] = routines.try_emplace({fragment, kind});
    if (isNew) {
      routine->second = writer.beginRoutine(nameOf(fragment));
      if (failed(lowerFragment(fragment, run.microBatch)))
        return failure();
      writer.endRoutine();
    }
    writer.call(routine->second, run.microBatch);
  }
  for (Value operand : fragment.getOperands())
    if (isToBeLoaded(operand, run.microBatch))
      loaded.insert({operand, instanceOf(operand, run.microBatch)});
  available.insert({fragment, pp::instanceOf(fragment, run.microBatch)});
  return success();
}

FailureOr<int64_t> PositionLowering::obtain(Value value, int64_t microBatch,
                                            Operation *reader) {
  if (auto sum = value.getDefiningOp<AccumulateOp>()) {
    if (auto slot = sums.getTotal(cast<OpResult>(sum.getOperand())))
      return *slot;
    return reportMissing(reader, position, microBatch, value);
  }
  if (isToBeLoaded(value, microBatch)) {
    const unsigned argument = cast<BlockArgument>(value).getArgNumber();
    auto [slot, isNew] = slots.try_emplace(value, -1);
    if (isNew)
      slot->second =
          writer.addSlot(getArgName(main, argument), SlotClass::Input,
                         value.getType(), microBatches);
    writer.load(slot->second, argument);
    loaded.insert({value, instanceOf(value, microBatch)});
  }
  if (auto slot = slots.find(value); slot != slots.end())
    return slot->second;
  return reportMissing(reader, position, microBatch, value);
}

/// Receives everything that one run of a fragment sends here, in the order in
/// which it is sent.
void PositionLowering::receiveResults(Run source) {
  const int64_t microBatch = pp::instanceOf(source.fragment, source.microBatch);
  const bool isRoutine = microBatch >= 0;
  SmallVector<TransferOp> transfers;
  for (TransferOp transfer : this->transfers.lookup(source.fragment))
    if (static_cast<int64_t>(transfer.getTarget()) == position)
      transfers.push_back(transfer);
  auto [routine, isNew] = receiveRoutines.try_emplace(source.fragment);
  if (isNew) {
    // Both ends of a transfer are named after the work that sends.
    writer.setTag({source.fragment.getPhase(),
                   source.fragment.getStageOrPosition(), microBatch});
    if (isRoutine)
      routine->second =
          writer.beginRoutine("receive " + nameOf(source.fragment));
    for (TransferOp transfer : transfers) {
      writer.setLoc(transfer.getLoc());
      const int64_t slot =
          writer.addSlot("recv", SlotClass::Communication, transfer.getType(),
                         isRoutine ? microBatches : 1);
      writer.recv(slot, transfer.getSource());
      received.insert(slot);
      slots[transfer.getResult()] = slot;
    }
    writer.endRoutine();
  }
  if (isRoutine)
    writer.call(routine->second, microBatch);
  for (TransferOp transfer : transfers)
    available.insert({transfer, microBatch});
}

void PositionLowering::sendResults(FragmentOp fragment) {
  for (TransferOp transfer : transfers.lookup(fragment)) {
    writer.setLoc(transfer.getLoc());
    writer.send(slots.at(transfer.getOperand()), transfer.getTarget());
  }
}

/// Whether a value of a fragment, or what a call in its place makes of it,
/// becomes a part of a sum, and of all that leaves the fragment nothing else.
bool PositionLowering::goesToSum(FragmentOp fragment, Value bodyValue) const {
  bool goes = false;
  for (OpOperand &use : bodyValue.getUses()) {
    const unsigned number = use.getOperandNumber();
    if (isa<YieldOp>(use.getOwner())) {
      if (!llvm::all_of(fragment.getResult(number).getUsers(),
                        llvm::IsaPred<AccumulateOp>))
        return false;
      goes = true;
    } else if (isa<AllReduceOp>(use.getOwner())) {
      goes |= goesToSum(fragment, use.getOwner()->getResult(number));
    }
  }
  return goes;
}

/// A run that begins a sum is the only one of its kind: what goes there needs
/// one copy, which may become the sum's.
int64_t PositionLowering::countCopies(FragmentOp fragment,
                                      Value bodyValue) const {
  const bool hasOne = isOncePerStep(fragment.getPhase()) ||
                      (beginsSums && goesToSum(fragment, bodyValue));
  return hasOne ? 1 : microBatches;
}

int64_t PositionLowering::addSlot(StringRef name, FragmentOp fragment,
                                  Value bodyValue) {
  const int64_t copies = countCopies(fragment, bodyValue);
  auto add = [&] {
    return writer.addSlot(name, getSlotClass(fragment, bodyValue),
                          bodyValue.getType(), copies);
  };
  if (copies == 1)
    return add();
  // Whoever reads it does not know which kind of run wrote it.
  auto [slot, isNew] =
      repeated.try_emplace({bodyValue.getAsOpaquePointer(), name.str()}, -1);
  if (isNew)
    slot->second = add();
  return slot->second;
}

LogicalResult PositionLowering::lowerFragment(FragmentOp fragment,
                                              int64_t microBatch) {
  Block &body = fragment.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  writer.setTag(
      {fragment.getPhase(), fragment.getStageOrPosition(), microBatch});
  local.clear();
  SmallVector<OpResult> totals;
  for (Value operand : fragment.getOperands())
    if (auto sum = operand.getDefiningOp<AccumulateOp>())
      totals.push_back(cast<OpResult>(sum.getOperand()));
  sums.round(totals);
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
      if (failed(lowerLaunch(launch)))
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
    // No send may read a received slot: that would delay other receives.
    if (received.contains(slot) &&
        llvm::any_of(result.getUsers(), llvm::IsaPred<TransferOp>)) {
      slot = addSlot("sent", fragment, value);
      writer.copy(local.at(value), slot);
    }
    slots[result] = slot;
    if (isAddedUp(result))
      sums.add(result, slot);
  }
  sums.finish();
  sendResults(fragment);
  for (OpOperand &use : main.getBody().front().getTerminator()->getOpOperands())
    if (use.get().getDefiningOp() == fragment && isEmittedAtOnce(use))
      writer.emit(slots.at(use.get()), use.getOperandNumber());
  return success();
}

/// The first contribution to a sum is written into its slot; a contraction adds
/// those that follow of its first result.
void PositionLowering::chooseDestinations(FragmentOp fragment) {
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
    if (!adds || (getKernelKind(kernel) == KernelKind::Contraction &&
                  cast<OpResult>(value).getResultNumber() == 0))
      destination[value] = {sums.getSlot(result), adds};
  }
}

LogicalResult PositionLowering::lowerLaunch(LaunchOp launch) {
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
  // An overwritten operand may be read again.
  llvm::DenseMap<int64_t, int64_t> overwritten; // slots by operand
  for (auto [index, result] : llvm::enumerate(launch.getResults()))
    if (int64_t operand = getInplaceOperand(kernel, index); operand >= 0) {
      int64_t slot = addSlot(kernel.getSymName(), fragment, result);
      writer.copy(local.at(launch.getOperand(operand)), slot);
      overwritten[operand] = slot;
    }
  SmallVector<int64_t> arguments;
  for (const RunParameter &parameter : getRunParameters(kernel)) {
    switch (parameter.source) {
    case RunParameter::Source::Operand:
      if (auto own = overwritten.find(parameter.index);
          own != overwritten.end())
        arguments.push_back(own->second);
      else
        arguments.push_back(local.at(launch.getOperand(parameter.index)));
      break;
    case RunParameter::Source::Result: {
      Value result = launch.getResult(parameter.index);
      auto chosen = destination.find(result);
      int64_t slot = chosen != destination.end()
                         ? chosen->second.slot
                         : addSlot(kernel.getSymName(), fragment, result);
      local[result] = slot;
      arguments.push_back(slot);
      break;
    }
    case RunParameter::Source::Workspace: {
      auto bytes = RankedTensorType::get(
          {parameter.bytes}, IntegerType::get(module.getContext(), 1));
      arguments.push_back(writer.addSlot(
          "workspace", SlotClass::Workspace, bytes,
          isOncePerStep(fragment.getPhase()) ? 1 : microBatches));
      break;
    }
    }
  }
  for (auto [index, result] : llvm::enumerate(launch.getResults()))
    if (int64_t operand = getInplaceOperand(kernel, index); operand >= 0)
      local[result] = overwritten.at(operand);
  writer.run(kernel, arguments, adds);
  return success();
}

void PositionLowering::lowerCollective(Operation &op, FragmentOp fragment) {
  SmallVector<int64_t> arguments;
  for (Value operand : op.getOperands())
    arguments.push_back(local.at(operand));
  for (OpResult result : op.getResults()) {
    local[result] = addSlot(op.getName().stripDialect(), fragment, result);
    arguments.push_back(local[result]);
  }
  writer.collective(&op, arguments);
}

/// Results that are no arguments go to the driver; then all others go back to
/// their arguments' slots at once, since one may be the old value of another.
LogicalResult PositionLowering::lowerReturn() {
  Operation *terminator = main.getBody().front().getTerminator();
  writer.setLoc(terminator->getLoc());
  writer.setTag({Phase::Update, position, -1});
  SmallVector<SlotCopy> copies;
  for (auto [index, value, argument] :
       llvm::enumerate(terminator->getOperands(), getUpdatedArguments(main))) {
    auto holders =
        main.getResultAttrOfType<DenseI64ArrayAttr>(index, attrs::kPositions);
    if (holders && !llvm::is_contained(holders.asArrayRef(), position))
      continue;
    if (isEmittedAtOnce(terminator->getOpOperand(index)))
      continue;
    FailureOr<int64_t> slot = obtain(value, -1, terminator);
    if (failed(slot))
      return failure();
    if (argument)
      copies.push_back({*slot, slots.at(argument), argument.getType()});
    else
      writer.emit(*slot, index);
  }
  for (SlotCopy copy : putInSequence(copies, [&](Type type) {
         return writer.addSlot("old", SlotClass::Activation, type,
                               /*copies=*/1);
       }))
    writer.copy(copy.source, copy.target);
  return success();
}

struct LowerToProgramsPass
    : pp::impl::LowerToProgramsBase<LowerToProgramsPass> {
  void runOnModule() override {
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
    const pprt::Target *target = getTarget(module);
    if (!target)
      return signalPassFailure();
    // Two parameters of each, where an update has four and more.
    const unsigned tensors = target->kernelTuning().tensorsPerLaunch;
    SumKernels sumKernels(module, tensors == 1 ? 1 : 2 * tensors);
    FailureOr<std::vector<PositionRuns>> positions =
        listPositionRuns(*main, schedule);
    if (failed(positions))
      return signalPassFailure();
    Transfers transfers;
    for (auto transfer : main->getOps<TransferOp>())
      transfers[transfer.getOperand().getDefiningOp()].push_back(transfer);
    for (size_t position = 0; position < positions->size(); ++position) {
      PositionLowering lowering(*main, sumKernels, *positions, position,
                                ranksOf(mesh.getMesh(), position),
                                schedule.getTable().microBatches, transfers);
      if (failed(lowering.run()))
        return signalPassFailure();
    }
    dropBody(*main);
    module->setAttr(attrs::kLevel,
                    LevelAttr::get(&getContext(), Level::Program));
  }

  /// Ranks whose coordinate on the stage axis is `position`, ascending.
  static SmallVector<int64_t> ranksOf(MeshAttr mesh, int64_t position) {
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
    const int64_t positions = mesh.getNumStagePositions();
    for (int64_t rank = 0; rank < devices; ++rank)
      if (positions == 1 || rank / minor % positions == position)
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
