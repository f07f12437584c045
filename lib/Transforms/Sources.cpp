//===- Sources.cpp - sources of shardings ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In a location sources are the metadata of a fused one: a list of numbers for
// each op, and the roots, which many ops have in common.
//
//===----------------------------------------------------------------------===//
#include "pp/Transforms/Sources.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Diagnostics.h"
#include "pp/Transforms/Cause.h"

using namespace mlir;
using namespace pp;

static constexpr StringLiteral kSources = "sources", kRoots = "roots",
                               kRoot = "root";
/// Numbers that tell of one axis of one result.
static constexpr unsigned kNumbers = 7;

static FusedLoc findFused(Location location, StringRef entry) {
  auto fused = dyn_cast<FusedLoc>(location);
  auto entries =
      fused ? dyn_cast_or_null<DictionaryAttr>(fused.getMetadata()) : nullptr;
  return entries && entries.contains(entry) && fused.getLocations().size() == 1
             ? fused
             : FusedLoc();
}

Location pp::attachSources(Location at, const SourcesOf &sources) {
  Builder builder(at.getContext());
  SmallVector<int32_t> numbers{sources.number};
  SmallVector<Attribute> roots;
  for (auto [result, ofValue] : llvm::enumerate(sources.values))
    for (const Source &source : ofValue) {
      auto *root = llvm::find(roots, source.root);
      numbers.append({static_cast<int32_t>(result), source.axis, source.dim,
                      static_cast<int32_t>(root - roots.begin()), source.length,
                      source.op, source.tensor});
      if (root == roots.end())
        roots.push_back(source.root);
    }
  return FusedLoc::get(
      at.getContext(), dropSources(at),
      builder.getDictionaryAttr(
          {builder.getNamedAttr(kRoots, builder.getArrayAttr(roots)),
           builder.getNamedAttr(kSources,
                                builder.getDenseI32ArrayAttr(numbers))}));
}

SourcesOf pp::findSources(Location location) {
  SourcesOf sources;
  FusedLoc fused = findFused(location, kSources);
  if (!fused)
    return sources;
  // A file may hold anything.
  auto entries = cast<DictionaryAttr>(fused.getMetadata());
  auto list = entries.getAs<DenseI32ArrayAttr>(kSources);
  auto roots = entries.getAs<ArrayAttr>(kRoots);
  if (!list || !roots || list.size() % kNumbers != 1)
    return sources;
  ArrayRef<int32_t> numbers = list.asArrayRef();
  sources.number = numbers.front();
  for (numbers = numbers.drop_front(); !numbers.empty();
       numbers = numbers.drop_front(kNumbers)) {
    size_t result = numbers[0], root = numbers[3];
    if (result > sources.values.size() || root >= roots.size() ||
        !isa<StringAttr>(roots[root]))
      return {};
    if (result == sources.values.size())
      sources.values.emplace_back();
    sources.values[result].push_back({numbers[1], numbers[2],
                                      cast<StringAttr>(roots[root]), numbers[4],
                                      numbers[5], numbers[6]});
  }
  return sources;
}

Location pp::dropSources(Location location) {
  FusedLoc fused = findFused(location, kSources);
  return fused ? fused.getLocations().front() : location;
}

static ValueSources sourcesOf(Value value) {
  const SourcesOf all = findSources(value.getLoc());
  auto result = dyn_cast<OpResult>(value);
  const unsigned index = result ? result.getResultNumber() : 0;
  return index < all.values.size() ? all.values[index] : ValueSources();
}

static void attach(Value value, const ValueSources &sources) {
  assert(value.getDefiningOp()->getNumResults() == 1 && "of one value");
  if (!sources.empty())
    value.getDefiningOp()->setLoc(
        attachSources(value.getLoc(), {/*number=*/-1, {sources}}));
}

void pp::inheritSources(Value value, Value like) {
  attach(value, sourcesOf(like));
}

void pp::inheritSources(Value value, Value like,
                        function_ref<int(int axis)> getDim) {
  ValueSources sources;
  for (Source source : sourcesOf(like)) {
    source.dim = getDim(source.axis);
    if (source.dim >= 0)
      sources.push_back(source);
  }
  attach(value, sources);
}

Location pp::attachRoot(Location at, StringRef root) {
  Builder builder(at.getContext());
  return FusedLoc::get(at.getContext(), at,
                       builder.getDictionaryAttr(builder.getNamedAttr(
                           kRoot, builder.getStringAttr(root))));
}

StringRef pp::findRoot(Location location) {
  FusedLoc fused = findFused(dropSources(location), kRoot);
  auto root =
      fused ? cast<DictionaryAttr>(fused.getMetadata()).getAs<StringAttr>(kRoot)
            : StringAttr();
  return root ? root.getValue() : StringRef();
}

Location pp::dropRoot(Location location) {
  FusedLoc fused = findFused(location, kRoot);
  return fused ? fused.getLocations().front() : location;
}

std::string pp::spellSeed(SeedAttr seed) {
  return "seed \"" + seed.getPattern().str() + "\" " +
         spellDims(seed.getDims());
}

std::string pp::spellGiven(ShardingAttr given, const Twine &of) {
  return ("pp.sharding " + spellDims(given.getDims()) + " of " + of).str();
}

std::string pp::spellConstraint(ShardingConstraintOp constraint) {
  if (StringRef root = findRoot(constraint.getLoc()); !root.empty())
    return root.str();
  const std::string place = describeLocation(constraint.getLoc());
  return "constraint " + (place.empty() ? "" : "at " + place + " ") +
         spellDims(constraint.getSharding().getDims());
}
