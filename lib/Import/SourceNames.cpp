//===- SourceNames.cpp - names from locations -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "SourceNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace pp::hlo;

/// Whether a component is of JAX's own making, not of the model.
static bool isTransformation(StringRef component) {
  return component.starts_with("jit(") || component.starts_with("pjit") ||
         llvm::StringSwitch<bool>(component)
             .Cases({"jit", "closed_call", "core_call", "checkpoint", "remat",
                     "remat2", "rematted_computation", "scan", "cond", "body",
                     "custom_jvp_call", "custom_vjp_call", "named_call",
                     kStopGradient, ""},
                    true)
             .Default(false);
}

/// `h.0` of `transpose(jvp(h.0))`
static StringRef unwrap(StringRef component) {
  for (StringRef wrapper : {"transpose(", "jvp(", "vmap(", "checkpoint("})
    if (component.starts_with(wrapper) && component.ends_with(")"))
      return unwrap(component.drop_front(wrapper.size()).drop_back());
  return component;
}

/// Whether a scope is a part of the model; those of jnp.einsum are formulas.
static bool isPart(StringRef component) {
  return llvm::all_of(component, [](char c) {
    return llvm::isAlnum(c) || StringRef("_-.").contains(c);
  });
}

std::string pp::hlo::joinNames(StringRef outer, StringRef inner) {
  return (outer + (outer.empty() || inner.empty() ? "" : ".") + inner).str();
}

std::string pp::hlo::findPart(Location loc, ArrayRef<int64_t> iterations) {
  auto named = dyn_cast<NameLoc>(loc);
  if (!named)
    return "";
  SmallVector<StringRef> components;
  named.getName().getValue().split(components, '/');
  components.pop_back(); // the primitive
  std::string part;
  for (StringRef component : components) {
    component = unwrap(component);
    if (component == "while" && !iterations.empty()) {
      part = joinNames(part, std::to_string(iterations.front()));
      iterations = iterations.drop_front();
    } else if (!isTransformation(component) && component != "while" &&
               isPart(component))
      part = joinNames(part, component);
  }
  return part;
}

bool pp::hlo::isInScope(Location loc, StringRef scope) {
  auto named = dyn_cast<NameLoc>(loc);
  if (!named)
    return false;
  SmallVector<StringRef> components;
  named.getName().getValue().split(components, '/');
  return llvm::any_of(components, [&](StringRef component) {
    return unwrap(component) == scope;
  });
}

bool pp::hlo::isInGradient(Location loc) {
  auto named = dyn_cast<NameLoc>(loc);
  return named && named.getName().getValue().contains("transpose(jvp(") &&
         !named.getName().getValue().contains("rematted_computation");
}

Location pp::hlo::findPlace(Location loc) {
  if (auto line = loc->findInstanceOf<FileLineColLoc>())
    return line;
  return UnknownLoc::get(loc.getContext());
}

/// The end of the identifier at the beginning.
static size_t findRootEnd(StringRef name) {
  return std::min(name.find_first_of(".["), name.size());
}

ArgumentPath pp::hlo::splitArgumentName(StringRef name) {
  const size_t end = findRootEnd(name);
  ArgumentPath result{name.take_front(end).str(), ""};
  StringRef rest = name.drop_front(end);
  while (!rest.empty()) {
    StringRef key;
    if (rest.consume_front("[")) {
      std::tie(key, rest) = rest.split(']');
      key = key.trim("'\"");
    } else {
      rest.consume_front(".");
      key = rest.take_front(findRootEnd(rest));
      rest = rest.drop_front(key.size());
    }
    result.path = joinNames(result.path, key);
  }
  return result;
}
