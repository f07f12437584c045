//===- Arguments.cpp - names and roles of a model's arguments -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Arguments.h"
#include "SourceNames.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

static constexpr int kUsage = 2;

namespace {
struct Argument {
  ArgumentPath path;
  std::string name;
  std::optional<Role> role;
  SmallVector<StringRef> dims; ///< empty: not given
};
} // namespace

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static std::string dropRoot(const ArgumentPath &path) {
  if (path.path.empty())
    return path.root;
  StringRef rest = path.path;
  rest.consume_front("params.");
  return rest.str();
}

/// The shorter name is that without the root, unless two arguments would share
/// it. Flax has its parameters below another `params`. States of an optimizer
/// are numbered: these keep their root.
static void shortenNames(MutableArrayRef<Argument> arguments,
                         ArrayRef<Role> others) {
  llvm::StringMap<int> counts;
  for (const Argument &argument : arguments)
    ++counts[dropRoot(argument.path)];
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    const std::string name = dropRoot(argument.path);
    const bool isNumbered = index < others.size() &&
                            others[index] == Role::State && !name.empty() &&
                            llvm::isDigit(name.front());
    argument.name =
        counts[name] == 1 && !isNumbered ? name : argument.path.whole();
  }
}

static SmallVector<Argument> findNames(func::FuncOp main,
                                       ArrayRef<Role> others) {
  SmallVector<Argument> arguments;
  for (BlockArgument argument : main.getArguments()) {
    auto named = dyn_cast<NameLoc>(argument.getLoc());
    arguments.push_back({});
    if (named)
      arguments.back().path = splitArgumentName(named.getName().getValue());
    if (!named || arguments.back().path.root.empty())
      arguments.back().path = {"arg" + std::to_string(argument.getArgNumber()),
                               ""};
  }
  shortenNames(arguments, others);
  return arguments;
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

/// Whether `selector` is the argument's number, its name, or the beginning of
/// its name up to a dot.
static bool selects(StringRef selector, size_t index,
                    const Argument &argument) {
  size_t number = 0;
  if (!selector.getAsInteger(10, number))
    return number == index;
  const std::string whole = argument.path.whole();
  return selector == argument.name || selector == whole ||
         StringRef(whole).starts_with((selector + ".").str());
}

/// `params.w: tensor<4x8xf32>`, one below the other.
static std::string listArguments(func::FuncOp main,
                                 ArrayRef<Argument> arguments) {
  constexpr size_t most = 24;
  std::string text;
  llvm::raw_string_ostream out(text);
  for (auto [index, argument] : llvm::enumerate(arguments.take_back(most)))
    out << (index ? ", " : "") << argument.path.whole() << " ("
        << main.getArgument(arguments.size() -
                            std::min(arguments.size(), most) + index)
               .getType()
        << ")";
  return text;
}

static LogicalResult giveRole(func::FuncOp main, ArrayRef<std::string> names,
                              Role role, MutableArrayRef<Argument> arguments) {
  for (StringRef text : names) {
    SmallVector<StringRef> parts;
    text.split(parts, ':');
    const StringRef selector = parts.front();
    bool isFound = false;
    for (auto [index, argument] : llvm::enumerate(arguments))
      if (selects(selector, index, argument)) {
        argument.role = role;
        argument.dims.assign(parts.begin() + 1, parts.end());
        isFound = true;
      }
    if (isFound)
      continue;
    InFlightDiagnostic error =
        main.emitError("expects the name or number of an argument, got '")
        << selector << "'; arguments are " << listArguments(main, arguments);
    setExitCode(error, kUsage);
    return error;
  }
  return success();
}

static LogicalResult findRoles(func::FuncOp main, const Roles &roles,
                               ArrayRef<Role> others,
                               MutableArrayRef<Argument> arguments) {
  for (auto [argument, role] : llvm::zip(arguments, others))
    argument.role = role;
  if (others.empty() && roles.inputs.empty() && roles.labels.empty()) {
    InFlightDiagnostic error = main.emitError(
        "expects --inputs=NAME,... and --labels=NAME,..., the arguments that "
        "are no parameters, got neither; arguments are ");
    error << listArguments(main, arguments);
    setExitCode(error, kUsage);
    return error;
  }
  return success(
      succeeded(giveRole(main, roles.inputs, Role::Input, arguments)) &&
      succeeded(giveRole(main, roles.labels, Role::Label, arguments)) &&
      succeeded(giveRole(main, roles.states, Role::State, arguments)));
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

InitAttr pp::hlo::guessInit(StringRef name, RankedTensorType type) {
  MLIRContext *context = type.getContext();
  const StringRef last =
      name.rsplit('.').second.empty() ? name : name.rsplit('.').second;
  if (type.getRank() >= 2 && isa<FloatType>(type.getElementType()))
    return InitAttr::get(context, InitKind::Normal, 0, 0.02);
  if (llvm::is_contained({"scale", "gamma", "g", "weight", "var"}, last))
    return InitAttr::get(context, InitKind::Constant, 1, 0);
  return InitAttr::get(context, InitKind::Zeros, 0, 0);
}

/// Reports what the argument's type does not allow.
static LogicalResult verify(BlockArgument value, const Argument &argument) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  const Role role = argument.role.value_or(Role::Param);
  if (role == Role::Param && !(type && isa<FloatType>(type.getElementType())))
    return emitError(value.getLoc())
           << "expects parameters to be floats, got '" << argument.path.whole()
           << "' of type " << value.getType()
           << "; name it in --inputs, --labels or --states if it is no "
              "parameter";
  if (!argument.dims.empty() &&
      !(type && int64_t(argument.dims.size()) == type.getRank())) {
    InFlightDiagnostic error = emitError(value.getLoc())
                               << "expects a name for each dimension of '"
                               << argument.path.whole() << "', "
                               << value.getType() << ", got "
                               << llvm::join(argument.dims, ":");
    setExitCode(error, kUsage);
    return error;
  }
  return success();
}

/// For each state of a step the parameter that it belongs to, as a moment does:
/// of the same type, at the same path below another root. Null for others.
static SmallVector<const Argument *> findOwners(func::FuncOp main,
                                                ArrayRef<Argument> arguments) {
  llvm::StringMap<unsigned> parameters;
  for (auto [index, argument] : llvm::enumerate(arguments))
    if (argument.role == Role::Param && !argument.path.path.empty())
      parameters.try_emplace(dropRoot(argument.path), index);
  SmallVector<const Argument *> owners(arguments.size());
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    if (argument.role != Role::State)
      continue;
    StringRef path = argument.path.path;
    while (!owners[index] && !path.empty()) {
      path = path.split('.').second;
      auto found = parameters.find(path);
      if (found != parameters.end() &&
          main.getArgument(found->second).getType() ==
              main.getArgument(index).getType())
        owners[index] = &arguments[found->second];
    }
  }
  return owners;
}

static DictionaryAttr describe(BlockArgument value, const Argument &argument,
                               const Argument *owner) {
  Builder builder(value.getContext());
  const Role role = argument.role.value_or(Role::Param);
  NamedAttrList attributes;
  attributes.set(attrs::kRole, RoleAttr::get(value.getContext(), role));
  attributes.set(attrs::kName, builder.getStringAttr(argument.name));
  if (role == Role::Param || role == Role::State)
    attributes.set(
        attrs::kInit,
        owner ? InitAttr::get(value.getContext(), InitKind::Zeros, 0, 0)
              : guessInit(argument.name,
                          cast<RankedTensorType>(value.getType())));
  if (owner)
    attributes.set(attrs::kParameter, builder.getStringAttr(owner->name));
  if (!argument.dims.empty())
    attributes.set(attrs::kDims, builder.getStrArrayAttr(argument.dims));
  return attributes.getDictionary(value.getContext());
}

FailureOr<SmallVector<DictionaryAttr>>
pp::hlo::describeArguments(func::FuncOp main, const Roles &roles,
                           ArrayRef<Role> others) {
  SmallVector<Argument> arguments = findNames(main, others);
  if (failed(findRoles(main, roles, others, arguments)))
    return failure();
  SmallVector<DictionaryAttr> result;
  llvm::StringSet<> names;
  // Those of a loss are the model's own.
  const SmallVector<const Argument *> owners =
      others.empty() ? SmallVector<const Argument *>(arguments.size())
                     : findOwners(main, arguments);
  for (auto [value, argument, owner] :
       llvm::zip_equal(main.getArguments(), arguments, owners))
    if (!names.insert(argument.name).second)
      return emitError(value.getLoc())
             << "expects arguments of different names, got two called '"
             << argument.name << "': rename one";
    else if (failed(verify(value, argument)))
      return failure();
    else
      result.push_back(describe(value, argument, owner));
  return result;
}

/// Whether a result is called as an argument: `result[1]['bn']['mean']` as
/// `stats['bn']['mean']`. Without names, it may be.
static bool areOfOneName(func::FuncOp main, unsigned result,
                         BlockArgument argument) {
  auto info = main.getResultAttrOfType<StringAttr>(result, "jax.result_info");
  auto named = dyn_cast<NameLoc>(argument.getLoc());
  if (!info || !named)
    return true;
  const std::string path = splitArgumentName(named.getName().getValue()).path;
  return path.empty() || StringRef(splitArgumentName(info.getValue()).path)
                             .ends_with("." + path);
}

SmallVector<unsigned>
pp::hlo::findNewValues(func::FuncOp main, ArrayRef<DictionaryAttr> attributes) {
  SmallVector<unsigned> values(attributes.size(), 0);
  unsigned next = 1; // behind the loss
  for (BlockArgument argument : main.getArguments()) {
    const unsigned index = argument.getArgNumber();
    if (attributes[index].getAs<RoleAttr>(attrs::kRole).getValue() !=
        Role::State)
      continue;
    for (unsigned result = next; result < main.getNumResults(); ++result)
      if (main.getResultTypes()[result] == argument.getType() &&
          areOfOneName(main, result, argument)) {
        values[index] = result;
        next = result + 1;
        break;
      }
  }
  return values;
}
