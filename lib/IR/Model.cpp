//===- Model.cpp - the training function and its annotations --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/IR/Model.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Values.h"

using namespace mlir;
using namespace pp;

FailureOr<func::FuncOp> pp::lookupMain(ModuleOp module) {
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    if (!main.isExternal()) {
      if (main.getBody().hasOneBlock() &&
          llvm::all_of(main.getArgumentTypes(), isTensor) &&
          llvm::all_of(main.getResultTypes(), isTensor))
        return main;
      return main.emitError("expects @main to be one block with arguments and "
                            "results that are tensors of static shape, got ")
             << main.getFunctionType();
    }
  if (!module.getOps<ProgramOp>().empty())
    return module.emitError(
        "expects @main with a body (levels 1 to 3), got "
        "the programs that pp-lower-to-programs made of it");
  return module.emitError("expects a function @main with a body");
}

FailureOr<func::FuncOp> pp::lookupSplitMain(ModuleOp module) {
  auto main = lookupMain(module);
  if (succeeded(main) && main->getOps<FragmentOp>().empty())
    return main->emitError("expects fragments (level 3), got none; "
                           "pp-split-stages makes them");
  return main;
}

FailureOr<SmallVector<ProgramOp>> pp::lookupPrograms(ModuleOp module) {
  SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
  if (programs.empty())
    return module.emitError("expects programs (level 4), got none; "
                            "pp-lower-to-programs writes them");
  return programs;
}

FailureOr<PlanAttr> pp::lookupPlan(ModuleOp module) {
  if (auto plan = module->getAttrOfType<PlanAttr>(attrs::kPlan))
    return plan;
  return module.emitError(
      "expects a plan (pp.plan) on the module; pp-make-plan writes one");
}

void pp::attachPlan(ModuleOp module, PlanAttr plan) {
  module->setAttr(attrs::kPlan, plan);
  if (MeshOp old = lookupMesh(module))
    old->erase();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  MeshOp::create(builder, module.getLoc(), "mesh", plan.getMesh());
}

bool pp::isStepWithoutPlan(ModuleOp module) {
  auto level = module->getAttrOfType<LevelAttr>(attrs::kLevel);
  return level && level.getValue() == Level::Graph &&
         !module->hasAttr(attrs::kPlan);
}

MeshOp pp::lookupMesh(ModuleOp module) {
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}

FailureOr<MeshOp> pp::requireMesh(ModuleOp module) {
  if (MeshOp mesh = lookupMesh(module))
    return mesh;
  return module.emitError("expects a pp.mesh; pp-annotate-shardings adds it");
}

std::optional<Role> pp::getArgRole(func::FuncOp main, unsigned index) {
  auto role = main.getArgAttrOfType<RoleAttr>(index, attrs::kRole);
  return role ? std::optional<Role>(role.getValue()) : std::nullopt;
}
StringRef pp::getArgName(func::FuncOp main, unsigned index) {
  auto name = main.getArgAttrOfType<StringAttr>(index, attrs::kName);
  return name ? name.getValue() : StringRef();
}
std::optional<Role> pp::getResultRole(func::FuncOp main, unsigned index) {
  auto role = main.getResultAttrOfType<RoleAttr>(index, attrs::kRole);
  return role ? std::optional<Role>(role.getValue()) : std::nullopt;
}
StringRef pp::getResultName(func::FuncOp main, unsigned index) {
  auto name = main.getResultAttrOfType<StringAttr>(index, attrs::kName);
  return name ? name.getValue() : StringRef();
}

std::optional<unsigned> pp::getBatchDim(func::FuncOp main, unsigned index) {
  auto dims = main.getArgAttrOfType<ArrayAttr>(index, attrs::kDims);
  if (!dims)
    return cast<RankedTensorType>(main.getArgumentTypes()[index]).getRank() == 0
               ? std::nullopt
               : std::optional<unsigned>(0);
  auto names = dims.getAsValueRange<StringAttr>();
  auto batch = llvm::find(names, "batch");
  return batch == names.end()
             ? std::nullopt
             : std::optional<unsigned>(std::distance(names.begin(), batch));
}

int64_t pp::findArg(func::FuncOp main, StringRef name) {
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    if (getArgName(main, index) == name)
      return index;
  return -1;
}

llvm::StringMap<unsigned> pp::getArgsByName(func::FuncOp main) {
  llvm::StringMap<unsigned> indices;
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    indices[getArgName(main, index)] = index;
  return indices;
}

SmallVector<BlockArgument> pp::getUpdatedArguments(func::FuncOp main) {
  const llvm::StringMap<unsigned> arguments = getArgsByName(main);
  SmallVector<BlockArgument> updated(main.getNumResults());
  for (unsigned index = 0; index < main.getNumResults(); ++index) {
    std::optional<Role> role = getResultRole(main, index);
    auto named = arguments.find(getResultName(main, index));
    if ((role == Role::Param || role == Role::State) &&
        named != arguments.end() && getArgRole(main, named->second) == role)
      updated[index] = main.getArgument(named->second);
  }
  return updated;
}

llvm::DenseSet<Value> pp::getBatchDependent(func::FuncOp main) {
  llvm::DenseSet<Value> dependent;
  for (BlockArgument argument : main.getArguments()) {
    std::optional<Role> role = getArgRole(main, argument.getArgNumber());
    if (role == Role::Input || role == Role::Label)
      dependent.insert(argument);
  }
  addDependents(main.getBody().front(), dependent);
  return dependent;
}

void pp::addDependents(Block &block, llvm::DenseSet<Value> &values) {
  for (Operation &op : block.without_terminator())
    if (llvm::any_of(op.getOperands(),
                     [&](Value operand) { return values.contains(operand); }))
      values.insert_range(op.getResults());
}

bool pp::isLoadedAnew(BlockArgument argument, MeshAttr mesh) {
  auto main = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  const unsigned index = argument.getArgNumber();
  const std::optional<Role> role = getArgRole(main, index);
  if (role != Role::Input && role != Role::Label)
    return false;
  const MeshAxisAttr time = mesh.getTimeAxis();
  auto sharding = main.getArgAttrOfType<ShardingAttr>(index, attrs::kSharding);
  return !time || !sharding ||
         llvm::any_of(sharding.getDims(), [&](DimShardingAttr dim) {
           return llvm::is_contained(dim.getAxes(), time.getName());
         });
}

/// `dicts` with entry `name` of each set to `values` where these are not null.
static SmallVector<DictionaryAttr> withEntries(MLIRContext *context,
                                               ArrayRef<DictionaryAttr> dicts,
                                               StringRef name,
                                               ArrayRef<Attribute> values) {
  SmallVector<DictionaryAttr> result(dicts);
  for (auto [dict, value] : llvm::zip_equal(result, values)) {
    if (!value)
      continue;
    NamedAttrList entries(dict);
    entries.set(name, value);
    dict = entries.getDictionary(context);
  }
  return result;
}

SmallVector<DictionaryAttr> pp::getAllArgAttrs(func::FuncOp main) {
  SmallVector<DictionaryAttr> dicts;
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    dicts.push_back(main.getArgAttrDict(index));
  return dicts;
}

SmallVector<DictionaryAttr> pp::getAllResultAttrs(func::FuncOp main) {
  SmallVector<DictionaryAttr> dicts;
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    dicts.push_back(main.getResultAttrDict(index));
  return dicts;
}

void pp::setArgAttrs(func::FuncOp main, StringRef name,
                     ArrayRef<Attribute> values) {
  main.setAllArgAttrs(
      withEntries(main.getContext(), getAllArgAttrs(main), name, values));
}

void pp::setResultAttrs(func::FuncOp main, StringRef name,
                        ArrayRef<Attribute> values) {
  main.setAllResultAttrs(
      withEntries(main.getContext(), getAllResultAttrs(main), name, values));
}

void pp::dropShardings(func::FuncOp main) {
  main.walk([](ShardingConstraintOp constraint) {
    constraint.replaceAllUsesWith(constraint.getOperand());
    constraint.erase();
  });
  auto without = [](SmallVector<DictionaryAttr> entries) {
    for (DictionaryAttr &entry : entries)
      if (entry.contains(attrs::kSharding)) {
        NamedAttrList kept(entry);
        kept.erase(attrs::kSharding);
        entry = kept.getDictionary(entry.getContext());
      }
    return entries;
  };
  main.setAllArgAttrs(without(getAllArgAttrs(main)));
  main.setAllResultAttrs(without(getAllResultAttrs(main)));
}

void pp::setResult(func::FuncOp main, unsigned index, Role role,
                   StringRef name) {
  MLIRContext *context = main.getContext();
  main.setResultAttr(index, attrs::kRole, RoleAttr::get(context, role));
  main.setResultAttr(index, attrs::kName, StringAttr::get(context, name));
}

DictionaryAttr pp::getResultAttrs(MLIRContext *context, Role role,
                                  StringRef name) {
  NamedAttrList attributes;
  attributes.set(attrs::kRole, RoleAttr::get(context, role));
  attributes.set(attrs::kName, StringAttr::get(context, name));
  return attributes.getDictionary(context);
}

void pp::setSignature(func::FuncOp main, ArrayRef<DictionaryAttr> ofArguments,
                      ArrayRef<DictionaryAttr> ofResults) {
  Block &body = main.getBody().front();
  main.setType(FunctionType::get(main.getContext(), body.getArgumentTypes(),
                                 body.getTerminator()->getOperandTypes()));
  main.setAllArgAttrs(ofArguments);
  main.setAllResultAttrs(ofResults);
}

Kind pp::getKind(Operation *op) {
  auto kind = dyn_cast_or_null<KindAttr>(op->getDiscardableAttr(attrs::kKind));
  return kind ? kind.getValue() : Kind::Forward;
}
Phase pp::getPhase(Operation *op) {
  switch (getKind(op)) {
  case Kind::Prologue:
    return Phase::Prologue;
  case Kind::Forward:
    return Phase::Forward;
  case Kind::InputGradient:
  case Kind::WeightGradient:
    return Phase::Backward;
  case Kind::Update:
    return Phase::Update;
  }
  llvm_unreachable("every kind is listed");
}
void pp::setKind(Operation *op, Kind kind) {
  op->setAttr(attrs::kKind, KindAttr::get(op->getContext(), kind));
}
int64_t pp::getOrigin(Operation *op) {
  auto origin =
      dyn_cast_or_null<IntegerAttr>(op->getDiscardableAttr(attrs::kOrigin));
  return origin ? origin.getInt() : -1;
}
void pp::setOrigin(Operation *op, int64_t origin) {
  op->setAttr(attrs::kOrigin,
              Builder(op->getContext()).getI64IntegerAttr(origin));
}
ArrayRef<int64_t> pp::getStages(Operation *op) {
  auto stages = dyn_cast_or_null<DenseI64ArrayAttr>(
      op->getDiscardableAttr(attrs::kStages));
  return stages ? stages.asArrayRef() : ArrayRef<int64_t>();
}
void pp::setStages(Operation *op, ArrayRef<int64_t> stages) {
  op->setAttr(attrs::kStages, DenseI64ArrayAttr::get(op->getContext(), stages));
}

SmallVector<int64_t> pp::getPositions(func::FuncOp main, MeshAttr mesh) {
  if (auto schedule = main->getAttrOfType<ScheduleAttr>(attrs::kSchedule))
    return llvm::to_vector_of<int64_t>(
        schedule::stageRanks(schedule.getTable()));
  return llvm::to_vector(llvm::seq<int64_t>(mesh.getNumStagePositions()));
}

bool pp::isGraphOp(Operation *op) {
  return isa_and_present<PPDialect>(op->getDialect()) && !isCollective(op) &&
         !isa<MeshOp, AxisIndexOp, AccumulateOp, AllSliceOp, FragmentOp,
              YieldOp, TransferOp, LaunchOp, ProgramOp, SlotOp, QueueOp,
              RoutineOp, CallOp, RunOp, SendOp, RecvOp, CollectiveInstructionOp,
              CopyOp, LoadOp, EmitOp, FlagOp, GateOp, StepOp>(op);
}

bool pp::isCollective(Operation *op) {
  return isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, PermuteOp>(
      op);
}

bool pp::isOncePerStep(Phase phase) {
  return phase == Phase::Prologue || phase == Phase::Update;
}

bool pp::isSpmdOp(Operation *op) {
  return isGraphOp(op) || isCollective(op) ||
         isa<AxisIndexOp, AccumulateOp, AllSliceOp>(op);
}
