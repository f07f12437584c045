//===- EditAttribute.cpp - one change to an attribute ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Goes down into one part of the attribute, and there removes, changes or
// exchanges it. What has no parts that MLIR can name is changed as text.
//
//===----------------------------------------------------------------------===//
#include "Edit.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pp::testing;

static int64_t editInteger(int64_t value, std::mt19937 &random) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  int64_t values[] = {value + 1, value - 1, 0,         1,        -1,
                      2,         value * 2, 1000000,   most,     -most - 1,
                      -value,    1 << 24,   most / 16, value / 2};
  return values[random() % std::size(values)];
}

/// An attribute of the module of the same kind as `like`.
static Attribute findOther(Attribute like, ModuleOp module,
                           std::mt19937 &random) {
  llvm::SetVector<Attribute> found;
  bool ofSameKind = random() % 8;
  module.walk([&](Operation *op) {
    op->getAttrDictionary().walk([&](Attribute attribute) {
      if (attribute != like &&
          (attribute.getTypeID() == like.getTypeID() || !ofSameKind))
        found.insert(attribute);
    });
  });
  return found.empty() ? like : found[random() % found.size()];
}

static Attribute editAsText(Attribute attribute, std::mt19937 &random) {
  std::string text, what;
  llvm::raw_string_ostream(text) << attribute;
  text = editText(text, random, what);
  MLIRContext *context = attribute.getContext();
  ScopedDiagnosticHandler handler(context,
                                  [](Diagnostic &) { return success(); });
  Attribute edited = parseAttribute(text, context);
  return edited ? edited : attribute;
}

template <typename T>
static void editList(SmallVectorImpl<T> &list, std::mt19937 &random,
                     llvm::function_ref<std::optional<T>(T)> edit) {
  if (list.empty())
    return;
  size_t index = random() % list.size();
  switch (random() % 6) {
  case 0:
    list.erase(list.begin() + index);
    break;
  case 1:
    list.insert(list.begin() + index, T(list[index]));
    break;
  case 2:
    std::swap(list[index], list[random() % list.size()]);
    break;
  default:
    if (std::optional<T> edited = edit(list[index]))
      list[index] = *edited;
    else
      list.erase(list.begin() + index);
  }
}

Attribute pp::testing::editAttribute(Attribute attribute, ModuleOp module,
                                     std::mt19937 &random) {
  MLIRContext *context = module.getContext();
  Builder builder(context);
  if (auto all = dyn_cast<DictionaryAttr>(attribute)) {
    if (all.empty())
      return all;
    NamedAttrList entries(all);
    NamedAttribute entry = all.getValue()[random() % all.size()];
    Attribute edited = random() % 5 == 0
                           ? Attribute()
                           : editAttribute(entry.getValue(), module, random);
    if (edited)
      entries.set(entry.getName(), edited);
    else
      entries.erase(entry.getName());
    return entries.getDictionary(context);
  }
  if (auto array = dyn_cast<ArrayAttr>(attribute)) {
    SmallVector<Attribute> parts(array.getValue());
    editList<Attribute>(parts, random, [&](Attribute part) {
      Attribute edited = editAttribute(part, module, random);
      return edited ? std::optional(edited) : std::nullopt;
    });
    return builder.getArrayAttr(parts);
  }
  // An attribute of another kind, or another of this kind.
  if (random() % 4 == 0)
    return findOther(attribute, module, random);
  if (auto integers = dyn_cast<DenseI64ArrayAttr>(attribute)) {
    SmallVector<int64_t> values(integers.asArrayRef());
    if (values.empty() || random() % 8 == 0)
      values.push_back(random() % 3);
    else
      editList<int64_t>(values, random, [&](int64_t value) {
        return std::optional(editInteger(value, random));
      });
    return builder.getDenseI64ArrayAttr(values);
  }
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
    if (random() % 6 == 0)
      return builder.getI32IntegerAttr(integer.getValue().getZExtValue() & 127);
    if (!integer.getType().isInteger(64))
      return builder.getIntegerAttr(integer.getType(), random() % 2);
    return builder.getI64IntegerAttr(editInteger(integer.getInt(), random));
  }
  if (isa<StringAttr>(attribute) && random() % 2) {
    const char *strings[] = {"", "x", "__metadata__", "0F0", "\xff\xfe", "@"};
    return builder.getStringAttr(strings[random() % std::size(strings)]);
  }
  if (isa<StringAttr, FlatSymbolRefAttr>(attribute))
    return findOther(attribute, module, random);
  if (auto type = dyn_cast<TypeAttr>(attribute)) {
    auto function = dyn_cast<FunctionType>(type.getValue());
    if (!function)
      return TypeAttr::get(editType(type.getValue(), module, random));
    SmallVector<Type> inputs(function.getInputs()),
        results(function.getResults());
    auto &list = random() % 2 ? inputs : results;
    editList<Type>(list, random, [&](Type part) {
      return std::optional(editType(part, module, random));
    });
    return TypeAttr::get(FunctionType::get(context, inputs, results));
  }
  return editAsText(attribute, random);
}
