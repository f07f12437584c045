//===- Cause.cpp - why a collective is there ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In a location a cause is the metadata of a fused one: a dictionary without
// entries for unknown facts.
//
//===----------------------------------------------------------------------===//
#include "pp/Transforms/Cause.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pp;

namespace {

/// The texts of a cause by the names of their entries.
constexpr std::pair<StringLiteral, std::string Cause::*> texts[] = {
    {"cause", &Cause::text},       {"maker", &Cause::maker},
    {"maker_at", &Cause::makerAt}, {"user", &Cause::user},
    {"user_at", &Cause::userAt},   {"gradient_of", &Cause::gradientOf},
    {"layouts", &Cause::layouts},  {"route", &Cause::route},
    {"advice", &Cause::advice}};
constexpr std::pair<StringLiteral, ShardingAttr Cause::*> shardings[] = {
    {"has", &Cause::has}, {"wants", &Cause::wants}};
constexpr std::pair<StringLiteral, std::vector<std::string> Cause::*> lists[] =
    {{"origins", &Cause::origins}, {"readers", &Cause::readers}};
constexpr StringLiteral kAlternatives = "alternatives", kInstead = "instead";

} // namespace

std::string pp::spellDim(DimShardingAttr dim) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{";
  llvm::interleaveComma(dim.getAxes(), os);
  os << (!dim.getIsOpen() ? "}" : dim.getAxes().empty() ? "?}" : ", ?}");
  return text;
}

std::string pp::spellDims(ArrayRef<DimShardingAttr> dims) {
  return "[" + llvm::join(llvm::map_range(dims, spellDim), ", ") + "]";
}

static Attribute writeAlternative(Builder &builder,
                                  const Cause::Alternative &other) {
  return builder.getArrayAttr({builder.getStringAttr(other.what),
                               builder.getI64IntegerAttr(other.wireBytes),
                               builder.getF64FloatAttr(other.seconds)});
}

/// A file may hold anything.
static std::optional<Cause::Alternative> readAlternative(Attribute attribute) {
  auto parts = dyn_cast_or_null<ArrayAttr>(attribute);
  if (!parts || parts.size() != 3 || !isa<StringAttr>(parts[0]) ||
      !isa<IntegerAttr>(parts[1]) || !isa<FloatAttr>(parts[2]))
    return std::nullopt;
  return Cause::Alternative{
      cast<StringAttr>(parts[0]).str(),
      cast<IntegerAttr>(parts[1]).getValue().getSExtValue(),
      cast<FloatAttr>(parts[2]).getValueAsDouble()};
}

Location Cause::attachTo(Location at) const {
  Builder builder(at.getContext());
  NamedAttrList entries;
  for (auto [name, member] : texts)
    if (!(this->*member).empty())
      entries.append(name, builder.getStringAttr(this->*member));
  for (auto [name, member] : shardings)
    if (this->*member)
      entries.append(name, this->*member);
  for (auto [name, member] : lists)
    if (const std::vector<std::string> &list = this->*member; !list.empty())
      entries.append(name, builder.getStrArrayAttr(SmallVector<StringRef>(
                               list.begin(), list.end())));
  SmallVector<Attribute> others;
  for (const Alternative &other : alternatives)
    others.push_back(writeAlternative(builder, other));
  if (!others.empty())
    entries.append(kAlternatives, builder.getArrayAttr(others));
  return FusedLoc::get(at.getContext(), at,
                       entries.getDictionary(at.getContext()));
}

static Cause readCause(DictionaryAttr entries) {
  Cause cause;
  for (auto [name, member] : texts)
    if (auto text = entries.getAs<StringAttr>(name))
      cause.*member = text.str();
  for (auto [name, member] : shardings)
    cause.*member = entries.getAs<ShardingAttr>(name);
  // A file may hold anything.
  for (auto [name, member] : lists)
    if (auto list = entries.getAs<ArrayAttr>(name))
      for (Attribute one : list)
        if (auto text = dyn_cast<StringAttr>(one))
          (cause.*member).push_back(text.str());
  if (auto others = entries.getAs<ArrayAttr>(kAlternatives))
    for (Attribute attribute : others)
      if (auto other = readAlternative(attribute))
        cause.alternatives.push_back(*other);
  return cause;
}

Location pp::attachAlternative(Location at, const Cause::Alternative &other) {
  Builder builder(at.getContext());
  return FusedLoc::get(at.getContext(), at,
                       builder.getDictionaryAttr(builder.getNamedAttr(
                           kInstead, writeAlternative(builder, other))));
}

std::optional<Cause::Alternative> pp::findAlternative(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  auto entries =
      fused ? dyn_cast_or_null<DictionaryAttr>(fused.getMetadata()) : nullptr;
  return entries ? readAlternative(entries.get(kInstead)) : std::nullopt;
}

static void appendCauses(Location location, SmallVectorImpl<CauseAt> &causes) {
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused)
    return;
  auto entries = dyn_cast_or_null<DictionaryAttr>(fused.getMetadata());
  if (entries && entries.contains(texts[0].first)) {
    causes.push_back({readCause(entries), fused.getLocations().front()});
    return;
  }
  for (Location part : fused.getLocations())
    appendCauses(part, causes);
}

SmallVector<CauseAt, 1> pp::findCauses(Location location) {
  SmallVector<CauseAt, 1> causes;
  appendCauses(location, causes);
  return causes;
}
