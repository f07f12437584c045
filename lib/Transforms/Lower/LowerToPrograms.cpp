//===- LowerToPrograms.cpp - unroll the schedule into instructions --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes level 3 with formed kernels and a schedule; adds one pp.program per
// stage. @main stays as the table of arguments and results (its body is
// dropped: the programs replace it).
//
//===----------------------------------------------------------------------===//
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

/// Writes the program of one stage.
class StageLowering {
public:
  StageLowering(func::FuncOp main, MeshAttr mesh, int64_t stage,
                ArrayRef<int64_t> ranks)
      : main(main), module(main->getParentOfType<ModuleOp>()), mesh(mesh),
        stage(stage), writer(module, ("stage" + Twine(stage)).str(), ranks) {}

  LogicalResult run(StringRef actions);

private:
  void addArguments();
  FragmentOp findFragment(Phase phase);
  LogicalResult lowerFragment(FragmentOp fragment, int64_t microBatch);
  LogicalResult lowerLaunch(LaunchOp launch, int64_t microBatch);
  void lowerCollective(Operation &op, FragmentOp fragment);
  void lowerReturn();

  /// The slot that holds `value` of @main for a micro-batch, loading or
  /// receiving it on the first call.
  int64_t obtain(Value value, int64_t microBatch);
  void receiveGroup(TransferOp transfer, int64_t microBatch);
  void sendResults(FragmentOp fragment, int64_t microBatch);
  /// Adds what a micro-batch contributed to the accumulators.
  void accumulate(FragmentOp fragment, int64_t microBatch);
  func::FuncOp accumulationKernel(Type type);
  SlotClass classOf(FragmentOp fragment, Value bodyValue);

  /// Update values exist once a step, all others once per micro-batch.
  static int64_t instanceOf(Value value, int64_t microBatch);

  func::FuncOp main;
  ModuleOp module;
  MeshAttr mesh;
  int64_t stage;
  ProgramWriter writer;
  llvm::DenseMap<std::pair<Value, int64_t>, int64_t>
      instances;                        ///< values of @main
  llvm::DenseMap<Value, int64_t> local; ///< values of the current fragment
  llvm::DenseMap<Value, int64_t>
      destination; ///< slots chosen before they are written
  llvm::DenseMap<Value, int64_t> accumulators; ///< by fragment result
  llvm::DenseSet<Operation *>
      started; ///< fragments that have contributed to them
};

int64_t StageLowering::instanceOf(Value value, int64_t microBatch) {
  if (auto fragment = value.getDefiningOp<FragmentOp>())
    return fragment.getPhase() == Phase::Update ? -1 : microBatch;
  if (auto transfer = value.getDefiningOp<TransferOp>())
    return instanceOf(transfer.getOperand(), microBatch);
  return microBatch;
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

FragmentOp StageLowering::findFragment(Phase phase) {
  for (auto fragment : main.getOps<FragmentOp>())
    if (fragment.getPhase() == phase &&
        static_cast<int64_t>(fragment.getStage()) == stage)
      return fragment;
  return {};
}

LogicalResult StageLowering::run(StringRef actions) {
  addArguments();
  SmallVector<StringRef> words;
  actions.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    std::optional<schedule::Action> action = schedule::parseAction(word.str());
    Phase phase = action->kind == schedule::Kind::Forward    ? Phase::Forward
                  : action->kind == schedule::Kind::Backward ? Phase::Backward
                                                             : Phase::Weight;
    FragmentOp fragment = findFragment(phase);
    if (fragment && failed(lowerFragment(fragment, action->microBatch)))
      return failure();
  }
  FragmentOp update = findFragment(Phase::Update);
  if (update && failed(lowerFragment(update, -1)))
    return failure();
  lowerReturn();
  writer.step();
  return success();
}

int64_t StageLowering::obtain(Value value, int64_t microBatch) {
  if (auto sum = value.getDefiningOp<AccumulateOp>())
    return accumulators.lookup(sum.getOperand());
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    auto held = instances.find({value, -1});
    if (held != instances.end())
      return held->second;
    // Without a time axis the update may read the only micro-batch.
    microBatch = std::max<int64_t>(microBatch, 0);
    auto [it, isNew] = instances.try_emplace({value, microBatch}, -1);
    if (isNew) {
      int64_t slot = writer.addSlot(getArgName(main, arg.getArgNumber()),
                                    SlotClass::Input, value.getType());
      writer.load(slot, arg.getArgNumber());
      instances[{value, microBatch}] = slot;
      return slot;
    }
    return it->second;
  }
  int64_t instance = instanceOf(value, microBatch);
  if (!value.getDefiningOp<TransferOp>() ||
      instances.contains({value, instance})) {
    auto it = instances.find({value, instance});
    return it != instances.end() ? it->second : instances.lookup({value, 0});
  }
  receiveGroup(value.getDefiningOp<TransferOp>(), instance);
  return instances.lookup({value, instance});
}

/// Receives everything that one run of the source fragment sends here, in the
/// order in which it is sent.
void StageLowering::receiveGroup(TransferOp transfer, int64_t microBatch) {
  auto source = transfer.getOperand().getDefiningOp<FragmentOp>();
  InstructionTag own = writer.getTag();
  // Both ends of a transfer are named after the work that sends.
  writer.setTag(
      {source.getPhase(), static_cast<int64_t>(source.getStage()), microBatch});
  for (auto other : main.getOps<TransferOp>()) {
    if (other.getOperand().getDefiningOp() != source.getOperation() ||
        other.getTarget() != transfer.getTarget())
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
      writer.send(instances.lookup({transfer.getOperand(), microBatch}),
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
  destination.clear();
  for (auto [operand, arg] :
       llvm::zip_equal(fragment.getOperands(), body.getArguments()))
    local[arg] = obtain(operand, microBatch);

  // The first contribution to an accumulator is written into it.
  for (OpResult result : fragment->getResults()) {
    bool isAccumulated =
        llvm::any_of(result.getUsers(), llvm::IsaPred<AccumulateOp>);
    Value value = yield.getOperand(result.getResultNumber());
    auto launch = value.getDefiningOp<LaunchOp>();
    if (!isAccumulated)
      continue;
    auto it = accumulators.find(result);
    if (it == accumulators.end()) {
      int64_t slot =
          writer.addSlot("gradient", SlotClass::Gradient, result.getType());
      accumulators[result] = slot;
      if (launch && value.hasOneUse())
        destination[value] = slot;
      continue;
    }
    auto kernel = launch ? module.lookupSymbol<func::FuncOp>(launch.getCallee())
                         : func::FuncOp();
    if (kernel && value.hasOneUse() &&
        getKernelKind(kernel) == KernelKind::Contraction)
      destination[value] = it->second;
  }

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
       llvm::zip_equal(fragment.getResults(), yield.getOperands()))
    instances[{result, microBatch}] = local.lookup(value);
  accumulate(fragment, microBatch);
  sendResults(fragment, microBatch);
  return success();
}

LogicalResult StageLowering::lowerLaunch(LaunchOp launch, int64_t microBatch) {
  auto kernel = module.lookupSymbol<func::FuncOp>(launch.getCallee());
  auto type = FunctionType::get(launch.getContext(), launch.getOperandTypes(),
                                launch.getResultTypes());
  if (!kernel || kernel.getFunctionType() != type)
    return launch.emitOpError() << "expects a kernel " << launch.getCallee()
                                << " of type " << type << " (launch_c1)";
  // A contraction adds to its destination from the second micro-batch on.
  bool adds = false;
  auto fragment = launch->getParentOfType<FragmentOp>();
  for (Value result : launch.getResults())
    adds |= destination.contains(result) && microBatch >= 0 &&
            getKernelKind(kernel) == KernelKind::Contraction &&
            started.contains(fragment);
  SmallVector<int64_t> slots;
  for (const RunParameter &parameter : getRunParameters(kernel)) {
    switch (parameter.source) {
    case RunParameter::Source::Operand:
      slots.push_back(local.lookup(launch.getOperand(parameter.index)));
      break;
    case RunParameter::Source::Result: {
      Value result = launch.getResult(parameter.index);
      auto chosen = destination.find(result);
      int64_t slot =
          chosen != destination.end()
              ? chosen->second
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
      local[result] = local.lookup(launch.getOperand(operand));
  writer.run(kernel, slots, adds);
  return success();
}

void StageLowering::lowerCollective(Operation &op, FragmentOp fragment) {
  // An all_reduce may overwrite what nothing else reads.
  auto mayOverwrite = [&](Value operand) {
    if (!isa<AllReduceOp>(op) || !operand.hasOneUse())
      return false;
    auto arg = dyn_cast<BlockArgument>(operand);
    if (!arg)
      return true;
    Value outer = fragment.getOperand(arg.getArgNumber());
    return outer.hasOneUse() && outer.getDefiningOp<AccumulateOp>();
  };
  SmallVector<int64_t> slots;
  for (Value operand : op.getOperands())
    slots.push_back(local.lookup(operand));
  for (OpResult result : op.getResults()) {
    Value operand = op.getOperand(result.getResultNumber());
    int64_t slot =
        mayOverwrite(operand)
            ? local.lookup(operand)
            : writer.addSlot(op.getName().stripDialect(),
                             classOf(fragment, result), result.getType());
    local[result] = slot;
    slots.push_back(slot);
  }
  writer.collective(&op, slots);
}

func::FuncOp StageLowering::accumulationKernel(Type type) {
  std::string name = "accumulate";
  auto tensor = cast<RankedTensorType>(type);
  for (int64_t size : tensor.getShape())
    name += "_" + std::to_string(size);
  llvm::raw_string_ostream(name) << "_" << tensor.getElementType();
  if (auto existing = module.lookupSymbol<func::FuncOp>(name))
    return existing;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto kernel =
      func::FuncOp::create(builder, main.getLoc(), name,
                           builder.getFunctionType({type, type}, {type}));
  kernel.setPrivate();
  kernel->setAttr(attrs::kKernel,
                  KernelKindAttr::get(builder.getContext(), KernelKind::Loops));
  kernel->setAttr(attrs::kInplace, builder.getDenseI64ArrayAttr({0, 0}));
  Block *block = kernel.addEntryBlock();
  builder.setInsertionPointToStart(block);
  Value sum = AddOp::create(builder, main.getLoc(), type, block->getArgument(0),
                            block->getArgument(1));
  func::ReturnOp::create(builder, main.getLoc(), sum);
  return kernel;
}

void StageLowering::accumulate(FragmentOp fragment, int64_t microBatch) {
  auto yield = cast<YieldOp>(fragment.getBody().front().getTerminator());
  bool isFirst = started.insert(fragment).second;
  for (OpResult result : fragment->getResults()) {
    auto accumulator = accumulators.find(result);
    Value value = yield.getOperand(result.getResultNumber());
    if (accumulator == accumulators.end() || destination.contains(value))
      continue;
    writer.setLoc(value.getLoc());
    int64_t slot = instances.lookup({result, microBatch});
    if (isFirst)
      writer.copy(slot, accumulator->second);
    else
      writer.run(accumulationKernel(result.getType()),
                 {accumulator->second, slot});
  }
}

/// Updated arguments go back to their slots, everything else to the driver.
void StageLowering::lowerReturn() {
  Operation *terminator = main.getBody().front().getTerminator();
  writer.setLoc(terminator->getLoc());
  writer.setTag({Phase::Update, stage, -1});
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    auto stages =
        main.getResultAttrOfType<DenseI64ArrayAttr>(index, attrs::kStages);
    if (stages && !llvm::is_contained(stages.asArrayRef(), stage))
      continue;
    std::optional<Role> role = getResultRole(main, index);
    int64_t slot = obtain(value, -1);
    if (role != Role::Param && role != Role::State) {
      writer.emit(slot, index);
      continue;
    }
    int64_t argument = findArg(main, getResultName(main, index));
    int64_t home = instances.lookup({main.getArgument(argument), -1});
    if (slot != home)
      writer.copy(slot, home);
  }
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
    for (auto [stage, actions] : llvm::enumerate(schedule.getRanks())) {
      StageLowering lowering(*main, mesh.getMesh(), stage,
                             ranksOf(mesh.getMesh(), stage));
      if (failed(lowering.run(actions.getValue())))
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
