//===- DiscardableAttributes.cpp - checks discardable attributes ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Passes communicate through discardable attributes. Every name has one type; a
// misspelt name or another type would read as absent, so the verifier refuses
// it. Readers check the values, except those of kernels, which have readers on
// three levels.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/PaddedRows.h"

using namespace mlir;
using namespace pp;

namespace {

struct Entry {
  StringLiteral name;
  bool (*isFit)(Attribute);
  StringLiteral what;
};

template <typename AttrTy> bool is(Attribute value) {
  return isa<AttrTy>(value);
}

bool isInteger(Attribute value) {
  auto integer = dyn_cast<IntegerAttr>(value);
  return integer && integer.getType().isSignlessInteger(64);
}

bool areShardings(Attribute value) {
  auto array = dyn_cast<ArrayAttr>(value);
  return array && llvm::all_of(array, is<ShardingAttr>);
}

bool areStrings(Attribute value) {
  auto array = dyn_cast<ArrayAttr>(value);
  return array && llvm::all_of(array, is<StringAttr>);
}

constexpr StringLiteral kIntegers = "array<i64: ...>";

/// Those that every op carries come first.
constexpr Entry entries[] = {
    {attrs::kKind, is<KindAttr>, "#pp.kind<...>"},
    {attrs::kOrigin, isInteger, "an i64 integer"},
    {attrs::kStages, is<DenseI64ArrayAttr>, kIntegers},
    {attrs::kPositions, is<DenseI64ArrayAttr>, kIntegers},
    {attrs::kShardings, areShardings, "[#pp.sharding<...>, ...]"},
    {attrs::kInShards, is<BoolAttr>, "a boolean"},
    {attrs::kRole, is<RoleAttr>, "#pp.role<...>"},
    {attrs::kName, is<StringAttr>, "a string"},
    {attrs::kInit, is<InitAttr>, "#pp.init<...>"},
    {attrs::kBound, isInteger, "an i64 integer"},
    {attrs::kDims, areStrings, "[\"...\", ...]"},
    {attrs::kParameter, is<StringAttr>, "a string"},
    {attrs::kLayer, isInteger, "an i64 integer"},
    {attrs::kStoredShape, is<DenseI64ArrayAttr>, kIntegers},
    {attrs::kStoredOrder, is<DenseI64ArrayAttr>, kIntegers},
    {attrs::kSharding, is<ShardingAttr>, "#pp.sharding<...>"},
    {attrs::kUnpaddedShape, is<DenseI64ArrayAttr>, kIntegers},
    {attrs::kGlobalShape, is<DenseI64ArrayAttr>, kIntegers},
    {attrs::kCheckpoint, is<CheckpointAttr>, "#pp.checkpoint<...>"},
    {attrs::kKeep, is<UnitAttr>, "a unit attribute"},
    {attrs::kKernel, is<KernelKindAttr>, "#pp.kernel<...>"},
    {attrs::kRows, is<RowsAttr>, "#pp.rows<...>"},
    {attrs::kInplace, is<DenseI64ArrayAttr>, kIntegers},
    {attrs::kPadded, is<UnitAttr>, "a unit attribute"},
    {attrs::kWorkspace, isInteger, "an i64 integer"},
    {attrs::kUnfused, is<FlatSymbolRefAttr>, "@..."},
    {attrs::kEpilogue, is<StringAttr>, "a string"},
    {attrs::kApproximate, is<UnitAttr>, "no value"},
    {attrs::kSchedule, is<ScheduleAttr>, "#pp.schedule<...>"},
    {attrs::kPlan, is<PlanAttr>, "#pp.plan<...>"},
    {attrs::kModel, is<StringAttr>, "a string"},
    {attrs::kLevel, is<LevelAttr>, "#pp.level<...>"},
    {attrs::kTarget, is<StringAttr>, "a string"},
};

/// `place` words the place of the attribute for errors; most attributes are
/// right, and there are many.
LogicalResult verifyType(Operation *op, NamedAttribute attribute,
                         llvm::function_ref<std::string()> place) {
  StringRef name = attribute.getName();
  const Entry *entry = llvm::find_if(
      entries, [&](const Entry &entry) { return entry.name == name; });
  if (entry == std::end(entries))
    return op->emitOpError() << "expects attributes that the dialect lists, "
                                "got \""
                             << name << "\"" << place();
  if (!entry->isFit(attribute.getValue()))
    return op->emitOpError() << "expects " << entry->what << " as " << name
                             << ", got " << attribute.getValue() << place();
  return success();
}

/// ` at argument "w"`, or its number where it has no name.
std::string describePlace(StringRef what, unsigned index,
                          DictionaryAttr attributes) {
  auto name =
      attributes ? attributes.getAs<StringAttr>(attrs::kName) : StringAttr();
  return (" at " + what + " " +
          (name ? "\"" + name.getValue() + "\"" : "number " + Twine(index)))
      .str();
}

} // namespace

LogicalResult PPDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  if (failed(verifyType(op, attribute, [] { return std::string(); })))
    return failure();
  auto kernel = dyn_cast<func::FuncOp>(op);
  return kernel && attribute.getName() == attrs::kKernel ? verifyKernel(kernel)
                                                         : success();
}

LogicalResult PPDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                  unsigned index,
                                                  NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  return verifyType(op, attribute, [&] {
    return describePlace("argument", index,
                         function ? function.getArgAttrDict(index)
                                  : DictionaryAttr());
  });
}

LogicalResult PPDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                     unsigned index,
                                                     NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  return verifyType(op, attribute, [&] {
    return describePlace("result", index,
                         function ? function.getResultAttrDict(index)
                                  : DictionaryAttr());
  });
}
