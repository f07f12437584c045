//===- LowerToPrograms.cpp - unroll the schedule into instructions --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes level 3 with formed kernels and a schedule; adds one pp.program per
// position. @main stays as the table of arguments and results (its body is
// dropped: the programs replace it). Every value has a separate slot: operands
// that a kernel overwrites are copied first, and pp-share-slots finds the
// unnecessary copies.
//
//===----------------------------------------------------------------------===//
#include "KernelClusters.h"
#include "MicroBatchSums.h"
#include "PositionRuns.h"
#include "ProgramWriter.h"
#include "Slots.h"
#include "pp/Analysis/ModuleTarget.h"
#include "pp/Transforms/Passes.h"

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_LOWERTOPROGRAMS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// Writes the program of one position.
class PositionLowering {
public:
  PositionLowering(func::FuncOp main, SumKernels &sumKernels,
                   ArrayRef<PositionRuns> positions, int64_t position,
                   ArrayRef<int64_t> ranks)
      : main(main), module(main->getParentOfType<ModuleOp>()), symbols(module),
        positions(positions), position(position),
        writer(module, nameOf(position, positions), ranks),
        sums(sumKernels, writer) {}

  LogicalResult run();

private:
  /// `stage1`, or where positions have several stages `position1`.
  static std::string nameOf(int64_t position, ArrayRef<PositionRuns> all);
  void addArguments();
  LogicalResult lowerFragment(FragmentOp fragment, int64_t microBatch);
  LogicalResult lowerLaunch(LaunchOp launch, int64_t microBatch);
  void lowerCollective(Operation &op, FragmentOp fragment);
  LogicalResult lowerReturn();

  /// The slot that holds `value` of @main for a micro-batch, loading it on the
  /// first call; reports to `reader` if none does.
  FailureOr<int64_t> obtain(Value value, int64_t microBatch, Operation *reader);
  void receiveResults(Run source);
  void sendResults(FragmentOp fragment, int64_t microBatch);
  /// Chooses where the values are written that are added up.
  void chooseDestinations(FragmentOp fragment);
  SlotClass classOf(FragmentOp fragment, Value bodyValue);
  bool isOfParameters(FragmentOp fragment, Value value);
  bool isGathered(FragmentOp fragment, OpResult value);

  static int64_t instanceOf(Value value, int64_t microBatch);
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
  int64_t position;
  ProgramWriter writer;
  MicroBatchSums sums;
  llvm::DenseMap<std::pair<Value, int64_t>, int64_t>
      instances;                        ///< values of @main
  llvm::DenseSet<int64_t> received;     ///< slots
  llvm::DenseMap<Value, int64_t> local; ///< values of the current fragment
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
    instances[{arg, -1}] = writer.addSlot(getArgName(main, index), slotClass,
                                          arg.getType(), index);
  }
}

LogicalResult PositionLowering::run() {
  addArguments();
  const PositionRuns &list = positions[position];
  for (size_t i = 0; i <= list.runs.size(); ++i) {
    for (RunPlace source : list.receives[i])
      receiveResults(positions[source.position].runs[source.index]);
    if (i < list.runs.size() &&
        failed(lowerFragment(list.runs[i].fragment, list.runs[i].microBatch)))
      return failure();
  }
  if (failed(lowerReturn()))
    return failure();
  writer.step();
  return success();
}

FailureOr<int64_t> PositionLowering::obtain(Value value, int64_t microBatch,
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
    if (auto it = instances.find(key); it != instances.end())
      return it->second;
  }
  return reportMissing(reader, position, microBatch, value);
}

/// Receives everything that one run of a fragment sends here, in the order in
/// which it is sent.
void PositionLowering::receiveResults(Run source) {
  int64_t microBatch = pp::instanceOf(source.fragment, source.microBatch);
  // Both ends of a transfer are named after the work that sends.
  writer.setTag({source.fragment.getPhase(),
                 source.fragment.getStageOrPosition(), microBatch});
  for (auto transfer : main.getOps<TransferOp>()) {
    if (transfer.getOperand().getDefiningOp() != source.fragment ||
        static_cast<int64_t>(transfer.getTarget()) != position)
      continue;
    writer.setLoc(transfer.getLoc());
    int64_t slot =
        writer.addSlot("recv", SlotClass::Communication, transfer.getType());
    writer.recv(slot, transfer.getSource());
    received.insert(slot);
    instances[{transfer.getResult(), microBatch}] = slot;
  }
}

void PositionLowering::sendResults(FragmentOp fragment, int64_t microBatch) {
  for (auto transfer : main.getOps<TransferOp>())
    if (transfer.getOperand().getDefiningOp() == fragment.getOperation()) {
      writer.setLoc(transfer.getLoc());
      writer.send(instances.at({transfer.getOperand(),
                                instanceOf(transfer, microBatch)}),
                  transfer.getTarget());
    }
}

/// Whether a value of a fragment is a parameter, or made of nothing else, such
/// as what a prologue makes.
bool PositionLowering::isOfParameters(FragmentOp fragment, Value value) {
  if (Operation *op = value.getDefiningOp())
    return isa<LaunchOp>(op) && op->getNumOperands() &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             return isOfParameters(fragment, operand);
           });
  Value source = fragment.getOperand(cast<BlockArgument>(value).getArgNumber());
  if (auto maker = source.getDefiningOp<FragmentOp>())
    return maker.getPhase() == Phase::Prologue;
  auto argument = dyn_cast<BlockArgument>(source);
  return argument && getArgRole(main, argument.getArgNumber()) == Role::Param;
}

/// Whether a value of a fragment is a parameter, gathered from the ranks'
/// parts.
bool PositionLowering::isGathered(FragmentOp fragment, OpResult value) {
  return isa<AllGatherOp>(value.getOwner()) &&
         isOfParameters(fragment,
                        value.getOwner()->getOperand(value.getResultNumber()));
}

/// A prologue makes what the step computes with instead of parameters, such as
/// their 16-bit copies. A gradient is held for the update, reduced where it
/// lies; a value that is added to a sum at once is none, and MicroBatchSums
/// adds the sum's slot.
SlotClass PositionLowering::classOf(FragmentOp fragment, Value bodyValue) {
  if (fragment.getPhase() == Phase::Prologue)
    return SlotClass::Gathered;
  if (fragment.getPhase() == Phase::Forward)
    return SlotClass::Activation;
  for (OpOperand &use : bodyValue.getUses()) {
    if (auto reduce = dyn_cast<AllReduceOp>(use.getOwner());
        reduce &&
        classOf(fragment, reduce->getResult(use.getOperandNumber())) ==
            SlotClass::Gradient)
      return SlotClass::Gradient;
    if (!isa<YieldOp>(use.getOwner()))
      continue;
    for (Operation *user :
         fragment.getResult(use.getOperandNumber()).getUsers()) {
      auto consumer = dyn_cast<FragmentOp>(user);
      if (consumer && consumer.getPhase() == Phase::Update)
        return SlotClass::Gradient;
    }
  }
  return SlotClass::Activation;
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
    // No send may read a received slot: that would delay other receives.
    if (received.contains(slot) &&
        llvm::any_of(result.getUsers(), llvm::IsaPred<TransferOp>)) {
      slot = writer.addSlot("sent", classOf(fragment, value), value.getType());
      writer.copy(local.at(value), slot);
    }
    instances[{result, instanceOf(result, microBatch)}] = slot;
    if (llvm::any_of(result.getUsers(), llvm::IsaPred<AccumulateOp>))
      sums.add(result, slot);
  }
  sums.finish();
  sendResults(fragment, microBatch);
  for (OpOperand &use : main.getBody().front().getTerminator()->getOpOperands())
    if (use.get().getDefiningOp() == fragment && isEmittedAtOnce(use))
      writer.emit(instances.at({use.get(), instanceOf(use.get(), microBatch)}),
                  use.getOperandNumber());
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

LogicalResult PositionLowering::lowerLaunch(LaunchOp launch,
                                            int64_t microBatch) {
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

void PositionLowering::lowerCollective(Operation &op, FragmentOp fragment) {
  SmallVector<int64_t> slots;
  for (Value operand : op.getOperands())
    slots.push_back(local.at(operand));
  for (OpResult result : op.getResults()) {
    SlotClass slotClass = isGathered(fragment, result)
                              ? SlotClass::Gathered
                              : classOf(fragment, result);
    local[result] = writer.addSlot(op.getName().stripDialect(), slotClass,
                                   result.getType());
    slots.push_back(local[result]);
  }
  writer.collective(&op, slots);
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
      copies.push_back(
          {*slot, instances.at({argument, -1}), argument.getType()});
    else
      writer.emit(*slot, index);
  }
  for (SlotCopy copy : putInSequence(copies, [&](Type type) {
         return writer.addSlot("old", SlotClass::Activation, type);
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
    for (size_t position = 0; position < positions->size(); ++position) {
      PositionLowering lowering(*main, sumKernels, *positions, position,
                                ranksOf(mesh.getMesh(), position));
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
    int64_t positions = mesh.getStageAxis() ? mesh.getStageAxis().getSize() : 1;
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
