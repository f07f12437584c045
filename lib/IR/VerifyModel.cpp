//===- VerifyModel.cpp - checks for all levels ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a module whose ops are verified, possibly edited by hand. Changes
// nothing. Later passes look arguments up by name, read shapes from attributes
// and trust the plan's mesh; this check makes that safe.
//
//===----------------------------------------------------------------------===//
#include "pp/IR/VerifyModel.h"
#include "pp/IR/Values.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;
using namespace pp;

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

/// Names an op that may not be in the module; empty if it may.
static std::string findMisplaced(Operation &op, func::FuncOp main,
                                 std::optional<Level> level) {
  bool hasKernels = level && *level >= Level::Pipeline;
  if (auto function = dyn_cast<func::FuncOp>(op)) {
    bool isPrivate = SymbolTable::getSymbolVisibility(&op) ==
                     SymbolTable::Visibility::Private;
    if (function == main)
      return "";
    if (!function->hasAttr(attrs::kKernel))
      return "@main to be the only function that is no kernel";
    if (!hasKernels)
      return "no kernels before level 3; pp-form-kernels makes them";
    return isPrivate ? "" : "kernels to be private";
  }
  if (isa<MeshOp>(op))
    return "";
  if (isa<ProgramOp>(op))
    return level == Level::Program
               ? ""
               : "no programs before level 4; pp-lower-to-programs writes them";
  return "@main, a mesh, kernels and programs";
}

/// An empty name cannot be printed.
static bool isNamed(Operation &op) {
  StringAttr name = SymbolTable::getSymbolName(&op);
  return name && !name.getValue().empty();
}

static LogicalResult verifyContents(ModuleOp module, func::FuncOp main,
                                    std::optional<Level> level) {
  MeshOp mesh;
  for (Operation &op : *module.getBody()) {
    if (std::string expected = findMisplaced(op, main, level);
        !expected.empty()) {
      InFlightDiagnostic diagnostic = op.emitError("expects ") << expected;
      diagnostic << ", got " << op.getName();
      if (auto name = SymbolTable::getSymbolName(&op))
        diagnostic << " @" << name.getValue();
      diagnostic << " (model_c1)";
      return diagnostic;
    }
    if (!isNamed(op))
      return op.emitError("expects a name, got none (model_c1)");
    if (auto other = dyn_cast<MeshOp>(op)) {
      if (mesh)
        return other.emitError("expects one mesh, got @")
               << mesh.getSymName() << " and @" << other.getSymName()
               << " (model_c1)";
      mesh = other;
    }
  }
  return success();
}

/// Plan and mesh are one decision, written twice. If shardings name the mesh,
/// it exists.
static LogicalResult verifyPlan(ModuleOp module, MeshOp mesh, Level level) {
  FailureOr<PlanAttr> plan = lookupPlan(module);
  if (failed(plan))
    return failure();
  if (!mesh)
    return success(level == Level::Graph || succeeded(requireMesh(module)));
  if (mesh.getMesh() != plan->getMesh())
    return mesh.emitError("expects the plan's mesh ")
           << plan->getMesh() << ", got " << mesh.getMesh() << " (model_c2)";
  return success();
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

namespace {

/// The runtime shares out tensors of at most so many dimensions
/// (runtime/engine/Shards.h).
constexpr int64_t kMaxRank = 8;

/// One argument or result of @main.
class InterfaceVerifier {
public:
  InterfaceVerifier(func::FuncOp main, StringRef what, unsigned index,
                    Type given, DictionaryAttr attributes)
      : main(main), what(what), index(index), given(given),
        type(dyn_cast<RankedTensorType>(given)),
        attributes(attributes ? attributes
                              : DictionaryAttr::get(main.getContext())) {}

  LogicalResult verify();
  /// Checks that the type is one device's part of the whole that the attributes
  /// describe.
  LogicalResult verifyPart(MeshOp mesh) const;
  InFlightDiagnostic fail() const {
    return main.emitError() << what << " " << index << " of @main ";
  }
  template <typename AttrTy> AttrTy get(StringRef name) const {
    return attributes.getAs<AttrTy>(name);
  }
  RankedTensorType getType() const { return type; }
  StringRef getName() const {
    auto name = get<StringAttr>(attrs::kName);
    return name ? name.getValue() : StringRef();
  }
  Role getRole() const { return get<RoleAttr>(attrs::kRole).getValue(); }
  bool isHeld() const {
    return getRole() == Role::Param || getRole() == Role::State;
  }
  bool isBatch() const {
    return getRole() == Role::Input || getRole() == Role::Label;
  }

private:
  LogicalResult verifyName() const;
  LogicalResult verifyShapes() const;
  LogicalResult verifyStoredShape(ArrayRef<int64_t> shape) const;
  LogicalResult verifyBound() const;
  LogicalResult verifyDims() const;
  LogicalResult verifySharding(ShardingAttr sharding, ArrayRef<int64_t> shape,
                               MeshOp mesh) const;

  mutable func::FuncOp main; ///< to report at
  StringRef what;
  unsigned index;
  Type given;
  RankedTensorType type; ///< the same, if it is a tensor
  DictionaryAttr attributes;
};

LogicalResult InterfaceVerifier::verifyName() const {
  if (!get<RoleAttr>(attrs::kRole) || getName().empty())
    return fail() << "expects pp.role and pp.name (model_c3)";
  if (!llvm::json::isUTF8(getName()))
    return fail() << "expects a name in UTF-8, got \""
                  << llvm::json::fixUTF8(getName()) << "\" (model_c3)";
  if (getRole() == Role::Param && getName() == "__metadata__")
    return fail() << "expects a parameter to have another name than "
                     "\"__metadata__\", which is no tensor in safetensors "
                     "files (model_c3)";
  return success();
}

/// The number of elements; nothing for a size below 0 or too many to count.
static std::optional<int64_t> countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 0 || llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

LogicalResult
InterfaceVerifier::verifyStoredShape(ArrayRef<int64_t> shape) const {
  auto stored = get<DenseI64ArrayAttr>(attrs::kStoredShape);
  auto order = get<DenseI64ArrayAttr>(attrs::kStoredOrder);
  if (order) {
    SmallVector<int64_t> sorted(order.asArrayRef());
    llvm::sort(sorted);
    if (!isHeld() || !llvm::equal(sorted, llvm::seq<int64_t>(shape.size())))
      return fail() << "expects a pp.stored_order of parameters and states, a "
                       "permutation of "
                    << shape.size() << " dimensions, got ["
                    << order.asArrayRef() << "] (model_c5)";
  }
  if (!stored)
    return success();
  if (!isHeld())
    return fail() << "expects pp.stored_shape on parameters and states alone "
                     "(model_c5)";
  std::optional<int64_t> count = countElements(stored);
  if (!count || count != countElements(shape))
    return fail() << "expects a pp.stored_shape of as many elements as ["
                  << shape << "] has, got [" << stored.asArrayRef()
                  << "] (model_c5)";
  return success();
}

/// The model's shape lies within the global one.
LogicalResult InterfaceVerifier::verifyShapes() const {
  if (type.getRank() > kMaxRank)
    return fail() << "expects at most " << kMaxRank << " dimensions, got "
                  << type << " (model_c5)";
  ArrayRef<int64_t> shape = type.getShape();
  for (StringRef name : {attrs::kGlobalShape, attrs::kUnpaddedShape}) {
    auto written = get<DenseI64ArrayAttr>(name);
    if (!written)
      continue;
    bool isFit = static_cast<int64_t>(written.size()) == type.getRank() &&
                 countElements(written);
    for (int64_t dim = 0;
         isFit && name == attrs::kUnpaddedShape && dim < type.getRank(); ++dim)
      isFit = written[dim] <= shape[dim];
    if (!isFit)
      return fail() << "expects " << name << " to be a shape of rank "
                    << type.getRank() << ", the model's within the global one"
                    << ", got [" << written.asArrayRef() << "] (model_c5)";
    shape = written;
  }
  return verifyStoredShape(shape);
}

LogicalResult InterfaceVerifier::verifyBound() const {
  auto bound = get<IntegerAttr>(attrs::kBound);
  if (!bound)
    return success();
  Type element = type.getElementType();
  if (isBatch() && element.isInteger() && bound.getInt() > 0) {
    const unsigned width = element.getIntOrFloatBitWidth();
    if (width >= 64)
      return success();
    const int64_t most = int64_t(1) << std::max(width - 1, 1u);
    if (bound.getInt() <= most)
      return success();
    return fail() << "expects pp.bound of at most " << most << ", got "
                  << bound.getInt() << " for " << type << " (model_c5)";
  }
  return fail() << "expects pp.bound above 0, and on inputs and labels of "
                   "integers alone, got "
                << bound.getInt() << " for " << type << " (model_c5)";
}

LogicalResult InterfaceVerifier::verifyDims() const {
  auto dims = get<ArrayAttr>(attrs::kDims);
  if (!dims || ((isBatch() || getRole() == Role::Param) &&
                static_cast<int64_t>(dims.size()) == type.getRank()))
    return success();
  return fail() << "expects pp.dims on inputs, labels and parameters alone, a "
                   "name for "
                   "each dimension of "
                << type << ", got " << dims << " (model_c5)";
}

LogicalResult InterfaceVerifier::verify() {
  if (!isTensor(given))
    return fail() << "expects a tensor of static shape, got " << given;
  if (failed(verifyName()) || failed(verifyShapes()))
    return failure();
  if (failed(verifyDims()))
    return failure();
  return verifyBound();
}

/// Every axis is one of the mesh that divides a tensor, and divides it evenly.
LogicalResult InterfaceVerifier::verifySharding(ShardingAttr sharding,
                                                ArrayRef<int64_t> shape,
                                                MeshOp mesh) const {
  if (sharding.getMesh().getValue() != mesh.getSymName() ||
      !sharding.getPartial().empty())
    return fail() << "expects a whole value over @" << mesh.getSymName()
                  << ", got " << sharding << " (model_c6)";
  for (auto [size, dim] : llvm::zip_equal(shape, sharding.getDims())) {
    for (StringAttr name : dim.getAxes()) {
      MeshAxisAttr axis = mesh.getMesh().lookup(name);
      bool isFit = axis && (axis.getKind() == AxisKind::Space ||
                            (axis.getKind() == AxisKind::Time &&
                             (isBatch() || getRole() == Role::Prediction)));
      if (!isFit)
        return fail()
               << "expects space axes of " << mesh.getMesh()
               << ", and time on inputs, labels and predictions alone, got "
               << name << " in " << sharding << " (model_c6)";
    }
    if (int64_t shards = mesh.getMesh().sizeOf(dim.getAxes()); size % shards)
      return fail() << "expects sizes that divide into shards, got " << size
                    << " for " << shards << " of " << sharding
                    << "; pp-pad-dimensions sees to that (model_c6)";
  }
  return success();
}

LogicalResult InterfaceVerifier::verifyPart(MeshOp mesh) const {
  auto global = get<DenseI64ArrayAttr>(attrs::kGlobalShape);
  auto sharding = get<ShardingAttr>(attrs::kSharding);
  if (!sharding || !global || sharding.getRank() != type.getRank())
    return fail() << "expects pp.sharding and pp.global_shape of rank "
                  << type.getRank() << "; pp-partition writes them (model_c6)";
  if (failed(verifySharding(sharding, global, mesh)))
    return failure();
  RankedTensorType expected =
      sharding.localType(type.clone(global.asArrayRef()), mesh.getMesh());
  if (expected != type)
    return fail() << "expects type " << expected << " for " << sharding
                  << ", got " << type << " (model_c6)";
  return success();
}

} // namespace

static LogicalResult verifyArgument(const InterfaceVerifier &argument) {
  Role role = argument.getRole();
  if (!argument.isHeld() && !argument.isBatch())
    return argument.fail() << "expects role param, state, input or label, got "
                           << stringifyRole(role) << " (model_c3)";
  if (argument.isHeld() && !argument.get<InitAttr>(attrs::kInit))
    return argument.fail() << "expects pp.init on " << stringifyRole(role)
                           << " \"" << argument.getName() << "\" (model_c3)";
  if (argument.isBatch() && argument.getType().getNumElements() == 0)
    return argument.fail() << "expects " << stringifyRole(role) << " \""
                           << argument.getName() << "\" to have elements, got "
                           << argument.getType() << " (model_c5)";
  return success();
}

/// A state that belongs to a parameter names it.
static LogicalResult verifyOwner(const InterfaceVerifier &argument,
                                 func::FuncOp main,
                                 const llvm::StringMap<unsigned> &arguments) {
  auto parameter = argument.get<StringAttr>(attrs::kParameter);
  if (!parameter)
    return success();
  if (argument.getRole() != Role::State)
    return argument.fail() << "expects pp.parameter on states only, got it on "
                           << stringifyRole(argument.getRole()) << " \""
                           << argument.getName() << "\" (model_c3)";
  auto owner = arguments.find(parameter.getValue());
  if (owner == arguments.end() ||
      getArgRole(main, owner->second) != Role::Param)
    return argument.fail() << "expects pp.parameter to name a parameter, got "
                           << parameter << " (model_c3)";
  return success();
}

/// Whether a result of `role` exists at `level`, and which pass makes it.
static StringRef findMaker(Role role, std::optional<Level> level) {
  switch (role) {
  case Role::Loss:
  case Role::State:
  case Role::Metric:
    return "";
  case Role::Param:
    return level ? "" : "; pp-add-optimizer adds new parameters";
  case Role::Gradient:
    return level ? "" : "; pp-differentiate adds gradients";
  case Role::Prediction:
    return level ? "" : "; pp-evaluate adds predictions";
  default:
    return "; inputs and labels are arguments";
  }
}

/// Checks that a new value of an argument has its name and shape.
static LogicalResult verifyUpdate(const InterfaceVerifier &result,
                                  func::FuncOp main,
                                  const llvm::StringMap<unsigned> &arguments) {
  Role role = result.getRole();
  Role of = role == Role::State ? Role::State : Role::Param;
  auto it = arguments.find(result.getName());
  if (it == arguments.end() || getArgRole(main, it->second) != of)
    return result.fail() << "expects the name of a " << stringifyRole(of)
                         << " argument, got \"" << result.getName()
                         << "\" (model_c4)";
  Type type = main.getArgumentTypes()[it->second];
  // A gradient may have another layout at rest than while it is computed.
  if (role != Role::Gradient && type != result.getType())
    return result.fail() << "expects the type of the argument it updates, "
                         << type << ", got " << result.getType()
                         << " (model_c4)";
  return success();
}

/// Before partitioning types are global, so there are no attributes about whole
/// tensors yet.
static LogicalResult verifyLayout(const InterfaceVerifier &value, MeshOp mesh,
                                  std::optional<Level> level) {
  if (level && *level >= Level::Spmd)
    return value.verifyPart(mesh);
  for (StringRef name : {attrs::kGlobalShape, attrs::kUnpaddedShape,
                         attrs::kStages, attrs::kPositions})
    if (Attribute given = value.get<Attribute>(name))
      return value.fail() << "expects no " << name << " yet, got " << given
                          << "; the passes of level 2 write it (model_c6)";
  return success();
}

static LogicalResult verifyInterface(func::FuncOp main, MeshOp mesh,
                                     std::optional<Level> level) {
  llvm::StringMap<unsigned> arguments;
  for (auto [index, type] : llvm::enumerate(main.getArgumentTypes())) {
    InterfaceVerifier argument(main, "argument", index, type,
                               main.getArgAttrDict(index));
    if (failed(argument.verify()) || failed(verifyArgument(argument)) ||
        failed(verifyLayout(argument, mesh, level)))
      return failure();
    if (!arguments.try_emplace(argument.getName(), index).second)
      return argument.fail()
             << "expects a unique name, got \"" << argument.getName()
             << "\" a second time (model_c3)";
  }
  // Plans refer to arguments and named values by name. A gradient has its
  // value's.
  llvm::StringSet<> values;
  for (auto value : main.getOps<NameOp>())
    if (!value.getGradient() && (arguments.contains(value.getName()) ||
                                 !values.insert(value.getName()).second))
      return value.emitOpError()
             << "expects a unique name, got \"" << value.getName()
             << "\" a second time (model_c3)";
  for (auto [index, type] : llvm::enumerate(main.getArgumentTypes()))
    if (failed(verifyOwner({main, "argument", static_cast<unsigned>(index),
                            type, main.getArgAttrDict(index)},
                           main, arguments)))
      return failure();
  // Once split, every stage that holds a parameter returns it.
  bool isSplit = level && *level >= Level::Pipeline;
  std::set<std::pair<Role, StringRef>> results;
  for (auto [index, type] : llvm::enumerate(main.getResultTypes())) {
    InterfaceVerifier result(main, "result", index, type,
                             main.getResultAttrDict(index));
    if (failed(result.verify()) || failed(verifyLayout(result, mesh, level)))
      return failure();
    Role role = result.getRole();
    if (StringRef maker = findMaker(role, level);
        !maker.empty() || (role == Role::Loss) != (index == 0))
      return result.fail() << "expects role "
                           << (index == 0 ? "loss"
                               : level    ? "param, state, gradient or metric"
                                          : "state or metric")
                           << ", got " << stringifyRole(role) << maker
                           << " (model_c4)";
    bool isUpdate =
        role != Role::Loss && role != Role::Metric && role != Role::Prediction;
    if (isUpdate && failed(verifyUpdate(result, main, arguments)))
      return failure();
    if (!results.insert({role, result.getName()}).second &&
        !(isSplit && isUpdate))
      return result.fail() << "expects a unique name, got "
                           << stringifyRole(role) << " \"" << result.getName()
                           << "\" a second time (model_c4)";
  }
  return success();
}

/// Programs do not need their table any more, but it is drawn and written.
static LogicalResult verifySchedule(func::FuncOp main) {
  auto schedule = main->getAttrOfType<ScheduleAttr>(attrs::kSchedule);
  std::string error;
  if (schedule && !schedule::verify(schedule.getTable(), error))
    return main.emitError("pp.schedule: ") << error;
  return success();
}

LogicalResult pp::verifyModel(ModuleOp module, func::FuncOp main,
                              std::optional<Level> level) {
  if (failed(verifyContents(module, main, level)))
    return failure();
  MeshOp mesh = lookupMesh(module);
  if (level && failed(verifyPlan(module, mesh, *level)))
    return failure();
  if (level == Level::Program && failed(verifySchedule(main)))
    return failure();
  return verifyInterface(main, mesh, level);
}

//===----------------------------------------------------------------------===//
// Marks on ops
//===----------------------------------------------------------------------===//

LogicalResult pp::verifyHasNone(Operation *op, ArrayRef<StringLiteral> names,
                                StringRef pass) {
  for (StringRef name : names)
    if (Attribute given = op->getAttr(name))
      return op->emitError("expects no ")
             << name << " yet, which " << pass << " adds, got " << given
             << " (step_c2)";
  return success();
}

LogicalResult pp::verifyKinds(func::FuncOp main) {
  for (Operation &op : main.getBody().front().without_terminator())
    for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || getPhase(producer) <= getPhase(&op))
        continue;
      InFlightDiagnostic diagnostic =
          op.emitOpError("of kind ")
          << stringifyKind(getKind(&op))
          << " expects no operand of a later part "
             "of the step, got operand "
          << index << " of kind " << stringifyKind(getKind(producer))
          << "; pp-differentiate and "
             "pp-add-optimizer write pp.kind (step_c1)";
      diagnostic.attachNote(producer->getLoc()) << "computed here";
      return diagnostic;
    }
  return success();
}
