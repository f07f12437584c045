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

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

static constexpr int kUsage = 2;

namespace {
struct Argument {
  ArgumentPath path;
  std::string name;
  std::optional<Role> role;
};
} // namespace

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// The shorter name is that without the root, unless two arguments would share
/// it. Flax has its parameters below another `params`.
static void shortenNames(MutableArrayRef<Argument> arguments) {
  llvm::StringMap<int> counts;
  auto shorten = [](const ArgumentPath &path) {
    if (path.path.empty())
      return path.root;
    StringRef rest = path.path;
    rest.consume_front("params.");
    return rest.str();
  };
  for (const Argument &argument : arguments)
    ++counts[shorten(argument.path)];
  for (Argument &argument : arguments) {
    const std::string name = shorten(argument.path);
    argument.name = counts[name] == 1 ? name : argument.path.whole();
  }
}

static SmallVector<Argument> findNames(func::FuncOp main) {
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
  shortenNames(arguments);
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
  for (StringRef selector : names) {
    bool isFound = false;
    for (auto [index, argument] : llvm::enumerate(arguments))
      if (selects(selector, index, argument)) {
        argument.role = role;
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
                               MutableArrayRef<Argument> arguments) {
  if (roles.inputs.empty() && roles.labels.empty()) {
    InFlightDiagnostic error = main.emitError(
        "expects --inputs=NAME,... and --labels=NAME,..., the arguments that "
        "are no parameters, got neither; arguments are ");
    error << listArguments(main, arguments);
    setExitCode(error, kUsage);
    return error;
  }
  return success(
      succeeded(giveRole(main, roles.inputs, Role::Input, arguments)) &&
      succeeded(giveRole(main, roles.labels, Role::Label, arguments)));
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

InitAttr pp::hlo::guessInit(StringRef name, RankedTensorType type) {
  MLIRContext *context = type.getContext();
  const StringRef last =
      name.rsplit('.').second.empty() ? name : name.rsplit('.').second;
  if (type.getRank() >= 2)
    return InitAttr::get(context, InitKind::Normal, 0, 0.02);
  if (llvm::is_contained({"scale", "gamma", "g", "weight"}, last))
    return InitAttr::get(context, InitKind::Constant, 1, 0);
  return InitAttr::get(context, InitKind::Zeros, 0, 0);
}

FailureOr<SmallVector<DictionaryAttr>>
pp::hlo::describeArguments(func::FuncOp main, const Roles &roles) {
  SmallVector<Argument> arguments = findNames(main);
  if (failed(findRoles(main, roles, arguments)))
    return failure();
  Builder builder(main.getContext());
  SmallVector<DictionaryAttr> result;
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    auto type = dyn_cast<RankedTensorType>(main.getArgument(index).getType());
    const Role role = argument.role.value_or(Role::Param);
    const bool isFloat = type && isa<FloatType>(type.getElementType());
    if (role == Role::Param && !isFloat)
      return emitError(main.getArgument(index).getLoc())
             << "expects parameters to be floats, got '"
             << argument.path.whole() << "' of type "
             << main.getArgument(index).getType()
             << "; name it in --inputs or --labels if it is no parameter";
    NamedAttrList attributes;
    attributes.set(attrs::kRole, RoleAttr::get(main.getContext(), role));
    attributes.set(attrs::kName, builder.getStringAttr(argument.name));
    if (role == Role::Param)
      attributes.set(attrs::kInit, guessInit(argument.name, type));
    result.push_back(attributes.getDictionary(main.getContext()));
  }
  return result;
}
