//===- ArtifactBuilder.cpp - level 4 to .ppx ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A plain translation: every op of the program level has its table in
// runtime/schema/ppx.fbs. Groups and kernels are numbered in order of use.
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/Contraction.h"
#include "pp/Analysis/ElementTypes.h"
#include "pp/Analysis/ModuleTarget.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/PlanKeys.h"
#include "pp/IR/ProgramList.h"
#include "pp/IR/VerifyModel.h"
#include "pp/IR/Version.h"
#include "pp/Target/Artifact.h"
#include "pp/Target/KernelCompiler.h"
#include "pprt/Program.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pp;
namespace ppx = pprt::ppx;

namespace {

/// Fails, reported at `location`, on a type that artifacts do not know.
FailureOr<ppx::ElementType> convertElement(RankedTensorType type,
                                           Location location) {
  if (auto element = toElementType(type.getElementType()))
    return *element;
  return emitError(location)
         << "expects elements of a type that artifacts have, got "
         << type.getElementType();
}

template <typename To, typename From>
std::vector<To> toVector(ArrayRef<From> values) {
  return std::vector<To>(values.begin(), values.end());
}

class ArtifactBuilder {
public:
  ArtifactBuilder(ModuleOp module, func::FuncOp main, MeshAttr mesh,
                  const pprt::Target &target)
      : module(module), main(main), mesh(mesh), target(target),
        symbols(module) {}

  FailureOr<std::unique_ptr<ppx::ArtifactT>> build();

private:
  void addMesh();
  LogicalResult addProgram(ProgramOp program);
  /// Adds a routine, and returns its number.
  FailureOr<uint32_t> addRoutine(llvm::iterator_range<Block::iterator> ops,
                                 ppx::ProgramT &program);
  LogicalResult addBody(ProgramOp from, ppx::ProgramT &program);
  FailureOr<std::unique_ptr<ppx::InstructionT>> convert(Operation &op);
  FailureOr<uint32_t> getKernel(func::FuncOp function, bool accumulate);
  FailureOr<ppx::CompiledKernelT> getCode(func::FuncOp function);
  uint32_t getGroup(ArrayAttr axes, ArrayRef<int64_t> stages);
  LogicalResult addArguments();
  LogicalResult addOutputs();
  std::vector<std::unique_ptr<ppx::DimensionAxesT>>
  convertSharding(ShardingAttr sharding, int64_t rank);

  ModuleOp module;
  func::FuncOp main;
  MeshAttr mesh;
  const pprt::Target &target;
  SymbolTable symbols;
  std::unique_ptr<ppx::ArtifactT> artifact = std::make_unique<ppx::ArtifactT>();
  llvm::DenseMap<std::pair<Operation *, int>, uint32_t>
      kernels; ///< (function, accumulate)
  llvm::DenseMap<std::pair<Attribute, Attribute>, uint32_t> groups;
  llvm::DenseMap<int64_t, uint32_t> outputs; ///< result of @main -> output
};

void ArtifactBuilder::addMesh() {
  for (MeshAxisAttr axis : mesh.getAxes()) {
    auto entry = std::make_unique<ppx::AxisT>();
    entry->name = axis.getName().str();
    entry->size = axis.getSize();
    entry->kind = static_cast<ppx::AxisKind>(axis.getKind());
    artifact->axes.push_back(std::move(entry));
  }
}

uint32_t ArtifactBuilder::getGroup(ArrayAttr axes, ArrayRef<int64_t> stages) {
  auto key = std::make_pair(Attribute(axes), Attribute(DenseI64ArrayAttr::get(
                                                 module.getContext(), stages)));
  auto [it, isNew] = groups.try_emplace(key, artifact->groups.size());
  if (isNew) {
    auto group = std::make_unique<ppx::GroupT>();
    for (StringAttr axis : axes.getAsRange<StringAttr>())
      group->axes.push_back(mesh.indexOf(axis));
    group->stages = toVector<uint32_t>(stages);
    artifact->groups.push_back(std::move(group));
  }
  return it->second;
}

FailureOr<uint32_t> ArtifactBuilder::getKernel(func::FuncOp function,
                                               bool accumulate) {
  auto [it, isNew] = kernels.try_emplace(
      {function.getOperation(), int(accumulate)}, artifact->kernels.size());
  if (!isNew)
    return it->second;
  auto kernel = std::make_unique<ppx::KernelT>();
  kernel->name = function.getSymName().str();
  for (const RunParameter &parameter : getRunParameters(function, accumulate)) {
    auto entry = std::make_unique<ppx::KernelParameterT>();
    entry->access = parameter.reads && parameter.writes ? ppx::Access_read_write
                    : parameter.writes                  ? ppx::Access_write
                                                        : ppx::Access_read;
    entry->bytes = parameter.bytes;
    kernel->parameters.push_back(std::move(entry));
  }
  KernelCost cost = getKernelCost(function);
  kernel->flops = cost.flops;
  kernel->bytes = cost.bytes;
  if (getKernelKind(function) == KernelKind::Contraction) {
    auto contraction = matchContraction(function);
    if (failed(contraction))
      return function.emitError("expects a kernel that is one contraction");
    contraction->accumulate = accumulate;
    auto plan = module->getAttrOfType<PlanAttr>(attrs::kPlan);
    contraction->tf32 = contraction->element == ppx::ElementType_f32 && plan &&
                        plan.getWord(PlanKey::Numerics) == "tf32";
    target.plan(*contraction, plan ? plan.getThreads() : 1);
    auto workspace = function->getAttrOfType<IntegerAttr>(attrs::kWorkspace);
    contraction->workspace_bytes = workspace ? workspace.getInt() : 0;
    if (auto name =
            function->getAttrOfType<FlatSymbolRefAttr>(attrs::kUnfused)) {
      auto unfused = symbols.lookup<func::FuncOp>(name.getValue());
      if (!unfused || getKernelKind(unfused) != KernelKind::Loops)
        return function.emitOpError()
               << "expects a loops kernel for its epilogues, got " << name;
      auto code = getCode(unfused);
      if (failed(code))
        return failure();
      contraction->unfused =
          std::make_unique<ppx::CompiledKernelT>(std::move(*code));
    }
    kernel->body.Set(std::move(*contraction));
  } else {
    auto code = getCode(function);
    if (failed(code))
      return failure();
    kernel->body.Set(std::move(*code));
  }
  artifact->kernels.push_back(std::move(kernel));
  return it->second;
}

/// Fails, reported, on rows that do not fit.
FailureOr<ppx::CompiledKernelT>
ArtifactBuilder::getCode(func::FuncOp function) {
  ppx::CompiledKernelT compiled;
  compiled.rows = getKernelRows(function);
  if (compiled.rows == 0 && function->hasAttr(attrs::kRows))
    return failure();
  compiled.scratch_bytes = getScratchBytes(function);
  setLaunch(function, compiled);
  compiled.symbol = getKernelSymbol(function);
  return compiled;
}

FailureOr<std::unique_ptr<ppx::InstructionT>>
ArtifactBuilder::convert(Operation &op) {
  auto result = std::make_unique<ppx::InstructionT>();
  auto integer = [&](StringRef name) {
    return op.getAttrOfType<IntegerAttr>(name).getInt();
  };
  result->queue = integer("queue");
  ArrayRef<int64_t> waits = op.getAttrOfType<DenseI64ArrayAttr>("waits");
  for (size_t i = 0; i + 1 < waits.size(); i += 2)
    result->waits.emplace_back(waits[i], waits[i + 1]);
  result->arguments = toVector<uint32_t>(
      ArrayRef<int64_t>(op.getAttrOfType<DenseI64ArrayAttr>("slots")));
  result->phase =
      static_cast<ppx::Phase>(op.getAttrOfType<PhaseAttr>("phase").getValue());
  if (!llvm::isUInt<32>(integer("stage")) ||
      !llvm::isInt<32>(integer("micro_batch")))
    return op.emitOpError("expects a stage and a micro-batch of 32 bits, got ")
           << integer("stage") << " and " << integer("micro_batch");
  result->stage = integer("stage");
  result->micro_batch = integer("micro_batch");
  result->location = describeLocation(op.getLoc());

  auto setKernel = [&](StringRef name, bool accumulate) -> LogicalResult {
    auto function = symbols.lookup<func::FuncOp>(name);
    if (!function)
      return op.emitOpError() << "expects a kernel @" << name;
    auto index = getKernel(function, accumulate);
    if (failed(index))
      return failure();
    result->kernel = *index;
    return success();
  };
  LogicalResult converted =
      llvm::TypeSwitch<Operation *, LogicalResult>(&op)
          .Case([&](RunOp run) {
            result->opcode = ppx::Opcode_run;
            return setKernel(run.getKernel(), run.getAccumulate());
          })
          .Case([&](GateOp gate) {
            result->opcode = ppx::Opcode_gate;
            return setKernel(gate.getKernel(), false);
          })
          .Case([&](SendOp send) {
            result->opcode = ppx::Opcode_send;
            result->peer_stage = send.getPeer();
            return success();
          })
          .Case([&](RecvOp recv) {
            result->opcode = ppx::Opcode_recv;
            result->peer_stage = recv.getPeer();
            return success();
          })
          .Case([&](CollectiveInstructionOp collective) {
            result->opcode = ppx::Opcode_collective;
            result->collective =
                static_cast<ppx::CollectiveKind>(collective.getKind());
            static constexpr ppx::Reduction kReductions[] = {
                ppx::Reduction_sum, ppx::Reduction_max,  ppx::Reduction_min,
                ppx::Reduction_sum, ppx::Reduction_and_, ppx::Reduction_or_};
            std::optional<Reduction> reduction = collective.getReduction();
            if (reduction == Reduction::Prod)
              return LogicalResult(collective.emitOpError(
                  "expects a reduction the runtime has, got prod"));
            if (reduction)
              result->reduction = kReductions[static_cast<int>(*reduction)];
            result->group =
                getGroup(collective.getAxes(), collective.getStages());
            result->dimensions = toVector<uint32_t>(collective.getDimensions());
            result->split_dimensions =
                toVector<uint32_t>(collective.getSplitDimensions());
            if (ArrayAttr target = collective.getTargetAttr())
              result->target_group = getGroup(target, {});
            return LogicalResult(success());
          })
          .Case([&](CopyOp) {
            result->opcode = ppx::Opcode_copy;
            return success();
          })
          .Case([&](LoadOp load) {
            result->opcode = ppx::Opcode_load;
            result->binding = load.getArgument();
            return success();
          })
          .Case([&](EmitOp emit) -> LogicalResult {
            auto output = outputs.find(emit.getOutput());
            if (output == outputs.end())
              return emit.emitOpError("expects a result of @main that is a "
                                      "loss, metric, gradient or prediction, "
                                      "got ")
                     << emit.getOutput();
            result->opcode = ppx::Opcode_emit;
            result->binding = output->second;
            return success();
          })
          .Case([&](FlagOp) {
            result->opcode = ppx::Opcode_flag;
            return success();
          })
          .Case([&](StepOp) {
            result->opcode = ppx::Opcode_step;
            return success();
          })
          .Default([](Operation *other) {
            return LogicalResult(
                other->emitOpError("expects an instruction of level 4"));
          });
  if (failed(converted))
    return failure();
  return result;
}

/// Of the waits of a routine, which count from the begin of the section on,
/// leaves those for the routine itself, as it counts. The call has the others.
static void takeWaits(ppx::RoutineT &routine, ArrayRef<int64_t> before,
                      ppx::CallT &call) {
  SmallVector<int64_t> end(before);
  for (const auto &instruction : routine.instructions)
    ++end[instruction->queue];
  for (auto [number, instruction] : llvm::enumerate(routine.instructions)) {
    std::vector<ppx::Wait> own;
    for (ppx::Wait wait : instruction->waits)
      if (wait.count() > before[wait.queue()] &&
          wait.count() <= end[wait.queue()])
        own.emplace_back(wait.queue(), wait.count() - before[wait.queue()]);
      else
        call.waits.emplace_back(number, wait.queue(), wait.count());
    instruction->waits = std::move(own);
  }
}

FailureOr<uint32_t>
ArtifactBuilder::addRoutine(llvm::iterator_range<Block::iterator> ops,
                            ppx::ProgramT &program) {
  auto routine = std::make_unique<ppx::RoutineT>();
  for (Operation &op : ops) {
    auto instruction = convert(op);
    if (failed(instruction))
      return failure();
    routine->instructions.push_back(std::move(*instruction));
  }
  program.routines.push_back(std::move(routine));
  return uint32_t(program.routines.size() - 1);
}

/// Instructions between two calls are a routine that is called once. Routines
/// that nothing calls are left out.
LogicalResult ArtifactBuilder::addBody(ProgramOp from, ppx::ProgramT &program) {
  const ProgramList list(from);
  llvm::DenseMap<StringAttr, RoutineOp> routines; // by name
  llvm::DenseMap<StringAttr, uint32_t> numbers;   // of those called
  for (auto routine : from.getRoutines().getOps<RoutineOp>())
    routines[routine.getNameAttr()] = routine;
  Block &body = from.getBody().front();
  unsigned entry = 0;
  for (auto next = body.begin(); next != body.end();) {
    auto call = std::make_unique<ppx::CallT>();
    if (auto op = dyn_cast<CallOp>(*next)) {
      const auto [number, isFirst] =
          numbers.try_emplace(op.getRoutineAttr(), program.routines.size());
      if (isFirst) {
        RoutineOp routine = routines.lookup(op.getRoutineAttr());
        if (failed(addRoutine(routine.getBody().front(), program)))
          return failure();
      }
      call->routine = number->second;
      call->micro_batch = op.getMicroBatch();
      ArrayRef<int64_t> waits = op.getWaits();
      for (size_t i = 0; i < waits.size(); i += 3)
        call->waits.emplace_back(waits[i], waits[i + 1], waits[i + 2]);
      ++next;
      ++entry;
    } else {
      const auto end = std::find_if(next, body.end(), llvm::IsaPred<CallOp>);
      FailureOr<uint32_t> number =
          addRoutine(llvm::make_range(next, end), program);
      if (failed(number))
        return failure();
      call->routine = *number;
      takeWaits(*program.routines[*number], list.countsBefore(entry), *call);
      entry += std::distance(next, end);
      next = end;
    }
    program.body.push_back(std::move(call));
  }
  return success();
}

LogicalResult ArtifactBuilder::addProgram(ProgramOp program) {
  auto result = std::make_unique<ppx::ProgramT>();
  result->name = program.getSymName().str();
  result->ranks = toVector<uint32_t>(program.getRanks());
  result->arena_bytes = program.getArenaBytes();
  result->argument_slots.assign(artifact->arguments.size(), -1);
  for (auto slot : program.getSlots().getOps<SlotOp>()) {
    auto type = cast<RankedTensorType>(slot.getType());
    auto element = convertElement(type, slot.getLoc());
    if (failed(element))
      return failure();
    if (std::optional<uint64_t> argument = slot.getArgument())
      result->argument_slots[*argument] = result->slots.size();
    auto entry = std::make_unique<ppx::SlotT>();
    SmallVector<int64_t> offsets(slot.getOffsets());
    offsets.resize(slot.getCopies(), -1);
    entry->offset = offsets.front();
    entry->more = toVector<uint64_t>(ArrayRef(offsets).drop_front());
    entry->bytes = getTensorBytes(type);
    entry->element = *element;
    entry->shape = toVector<uint64_t>(type.getShape());
    entry->slot_class = static_cast<ppx::SlotClass>(slot.getSlotClass());
    entry->name = slot.getName().str();
    result->slots.push_back(std::move(entry));
  }
  for (auto queue : program.getQueues().getOps<QueueOp>()) {
    auto entry = std::make_unique<ppx::QueueT>();
    entry->name = queue.getName().str();
    entry->kind = static_cast<ppx::QueueKind>(queue.getKind());
    result->queues.push_back(std::move(entry));
  }
  auto addSection = [&](Region &region, auto &section) -> LogicalResult {
    if (region.front().empty())
      return success();
    FailureOr<uint32_t> number = addRoutine(region.front(), *result);
    if (failed(number))
      return failure();
    section.push_back(std::make_unique<ppx::CallT>());
    section.back()->routine = *number;
    return success();
  };
  if (failed(addSection(program.getSetup(), result->setup)) ||
      failed(addBody(program, *result)) ||
      failed(addSection(program.getTeardown(), result->teardown)))
    return failure();
  artifact->programs.push_back(std::move(result));
  return success();
}

std::vector<std::unique_ptr<ppx::DimensionAxesT>>
ArtifactBuilder::convertSharding(ShardingAttr sharding, int64_t rank) {
  std::vector<std::unique_ptr<ppx::DimensionAxesT>> dims;
  for (int64_t dim = 0; dim < rank; ++dim) {
    dims.push_back(std::make_unique<ppx::DimensionAxesT>());
    if (sharding)
      for (StringAttr axis : sharding.getDims()[dim].getAxes())
        dims.back()->axes.push_back(mesh.indexOf(axis));
  }
  return dims;
}

/// The shapes of an argument or result: the padded one, which shards tile, and
/// the model's.
static std::pair<ArrayRef<int64_t>, ArrayRef<int64_t>>
getShapes(DictionaryAttr attributes, RankedTensorType type) {
  ArrayRef<int64_t> padded = type.getShape();
  if (auto global = attributes.getAs<DenseI64ArrayAttr>(attrs::kGlobalShape))
    padded = global;
  auto unpadded = attributes.getAs<DenseI64ArrayAttr>(attrs::kUnpaddedShape);
  return {padded, unpadded ? ArrayRef<int64_t>(unpadded) : padded};
}

LogicalResult ArtifactBuilder::addArguments() {
  FunctionType function = main.getFunctionType();
  // A step that brings its update keeps what that needs with the model.
  auto plan = module->getAttrOfType<PlanAttr>(attrs::kPlan);
  const bool hasOwnUpdate = plan && !plan.getOptimizer();
  for (auto [index, type] : llvm::enumerate(function.getInputs())) {
    auto tensor = cast<RankedTensorType>(type);
    DictionaryAttr attributes = main.getArgAttrDict(index);
    auto [padded, shape] = getShapes(attributes, tensor);
    auto entry = std::make_unique<ppx::ArgumentT>();
    entry->name = getArgName(main, index).str();
    entry->role = static_cast<ppx::Role>(*getArgRole(main, index));
    auto element = convertElement(tensor, main.getLoc());
    if (failed(element))
      return failure();
    entry->element = *element;
    entry->shape = toVector<uint64_t>(shape);
    entry->padded_shape = toVector<uint64_t>(padded);
    auto stored = attributes.getAs<DenseI64ArrayAttr>(attrs::kStoredShape);
    entry->stored_shape =
        toVector<uint64_t>(stored ? ArrayRef<int64_t>(stored) : shape);
    if (auto order = attributes.getAs<DenseI64ArrayAttr>(attrs::kStoredOrder)) {
      entry->stored_order = toVector<uint32_t>(order.asArrayRef());
      if (!stored)
        for (auto [size, dim] :
             llvm::zip_equal(entry->stored_shape, order.asArrayRef()))
          size = shape[dim];
    }
    if (entry->role == ppx::Role_input || entry->role == ppx::Role_label)
      entry->batch = getBatchDim(main, index).value_or(-1);
    entry->is_models =
        entry->role == ppx::Role_param ||
        (entry->role == ppx::Role_state &&
         (hasOwnUpdate || (!attributes.get(attrs::kParameter) &&
                           !StringRef(entry->name).starts_with("optimizer."))));
    entry->sharding = convertSharding(
        attributes.getAs<ShardingAttr>(attrs::kSharding), tensor.getRank());
    if (auto init = attributes.getAs<InitAttr>(attrs::kInit)) {
      entry->initializer = std::make_unique<ppx::InitializerT>();
      entry->initializer->kind =
          static_cast<ppx::InitializerKind>(init.getKind());
      entry->initializer->a = init.getA();
      entry->initializer->b = init.getB();
      entry->initializer->stream = index;
    }
    if (auto bound = attributes.getAs<IntegerAttr>(attrs::kBound))
      entry->bound = bound.getInt();
    artifact->arguments.push_back(std::move(entry));
  }
  return success();
}

/// Nothing for a new value of an argument.
static std::optional<ppx::OutputRole> toOutputRole(std::optional<Role> role) {
  switch (role.value_or(Role::State)) {
  case Role::Loss:
    return ppx::OutputRole_loss;
  case Role::Metric:
    return ppx::OutputRole_metric;
  case Role::Gradient:
    return ppx::OutputRole_gradient;
  case Role::Prediction:
    return ppx::OutputRole_prediction;
  default:
    return std::nullopt;
  }
}

LogicalResult ArtifactBuilder::addOutputs() {
  for (auto [index, type] : llvm::enumerate(main.getResultTypes())) {
    std::optional<Role> role = getResultRole(main, index);
    const std::optional<ppx::OutputRole> outputRole = toOutputRole(role);
    if (!outputRole)
      continue;
    auto tensor = cast<RankedTensorType>(type);
    DictionaryAttr attributes = main.getResultAttrDict(index);
    auto [padded, shape] = getShapes(attributes, tensor);
    auto entry = std::make_unique<ppx::OutputT>();
    entry->name = getResultName(main, index).str();
    entry->role = *outputRole;
    auto element = convertElement(tensor, main.getLoc());
    if (failed(element))
      return failure();
    entry->element = *element;
    entry->shape = toVector<uint64_t>(shape);
    entry->padded_shape = toVector<uint64_t>(padded);
    entry->sharding = convertSharding(
        attributes.getAs<ShardingAttr>(attrs::kSharding), tensor.getRank());
    auto stages = attributes.getAs<DenseI64ArrayAttr>(attrs::kPositions);
    entry->stages = stages ? toVector<uint32_t>(ArrayRef<int64_t>(stages))
                           : std::vector<uint32_t>{0};
    outputs[index] = artifact->outputs.size();
    artifact->outputs.push_back(std::move(entry));
  }
  return success();
}

FailureOr<std::unique_ptr<ppx::ArtifactT>> ArtifactBuilder::build() {
  artifact->producer = describeVersion();
  artifact->target = target.name();
  if (auto model = module->getAttrOfType<StringAttr>(attrs::kModel))
    artifact->model = model.str();
  if (auto plan = module->getAttrOfType<PlanAttr>(attrs::kPlan)) {
    llvm::raw_string_ostream(artifact->plan) << plan;
    artifact->threads_per_rank = plan.getThreads();
    artifact->cuts = toVector<uint64_t>(plan.getCuts());
  }
  addMesh();
  if (failed(addArguments()) || failed(addOutputs()))
    return failure();
  for (auto program : module.getOps<ProgramOp>())
    if (failed(addProgram(program)))
      return failure();
  // Tokens where there are some, which have a label each; else samples, and a
  // sample may have labels for each of its pixels.
  const bool hasTokens =
      llvm::any_of(artifact->arguments, [](const auto &argument) {
        return argument->name == "tokens";
      });
  for (const auto &argument : artifact->arguments)
    if (argument->role == ppx::Role_label && argument->batch >= 0)
      artifact->items_per_step =
          hasTokens ? ShapedType::getNumElements(SmallVector<int64_t>(
                          argument->shape.begin(), argument->shape.end()))
                    : argument->shape[argument->batch];
  return std::move(artifact);
}

} // namespace

FailureOr<std::unique_ptr<ppx::ArtifactT>> pp::buildArtifact(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  MeshOp mesh = lookupMesh(module);
  if (!main || !mesh || module.getOps<ProgramOp>().empty())
    return module.emitError(
        "expects @main, a mesh and programs (level 4); pp-lower-to-programs "
        "writes programs");
  if (failed(verifyModel(module, main, Level::Program)))
    return failure();
  const pprt::Target *target = getTarget(module);
  return target ? ArtifactBuilder(module, main, mesh.getMesh(), *target).build()
                : FailureOr<std::unique_ptr<ppx::ArtifactT>>(failure());
}
