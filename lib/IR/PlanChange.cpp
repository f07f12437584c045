//===- PlanChange.cpp - a change of a plan, as one types it ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a plan that was verified, and the text of a change. Out: the changed
// plan, checked for contradictions, or an error.
//
//===----------------------------------------------------------------------===//
#include "mlir/AsmParser/AsmParser.h"
#include "pp/IR/PlanKeys.h"
#include "pp/IR/PlanText.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pp;

bool pp::isSeedChange(StringRef change) { return change.starts_with("#"); }

static SmallVector<StringRef> splitWords(StringRef change) {
  SmallVector<StringRef> words;
  llvm::SplitString(change, words);
  return words;
}

bool pp::choosesSeeds(StringRef change) {
  return llvm::any_of(splitWords(change), [](StringRef word) {
    const PlanKeyInfo *info = lookupPlanKey(word.split('=').first);
    return info && info->place == PlanKeyInfo::Place::Seeds;
  });
}

static PlanAttr withoutAxis(PlanAttr plan, StringRef name) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](DimShardingAttr dim) {
    SmallVector<StringAttr> axes;
    for (StringAttr axis : dim.getAxes())
      if (axis != name)
        axes.push_back(axis);
    return DimShardingAttr::get(dim.getContext(), axes, dim.getIsOpen());
  });
  SmallVector<MeshAxisAttr> axes;
  for (MeshAxisAttr axis : plan.getMesh().getAxes())
    if (axis.getName() != name)
      axes.push_back(axis);
  plan = cast<PlanAttr>(replacer.replace(plan));
  return withoutIdleSettings(
      plan.withMesh(MeshAttr::get(plan.getContext(), axes)));
}

static PlanAttr withSize(PlanAttr plan, StringRef name, int64_t size) {
  if (size == 1)
    return withoutAxis(plan, name);
  SmallVector<MeshAxisAttr> axes;
  for (MeshAxisAttr axis : plan.getMesh().getAxes())
    axes.push_back(axis.getName() == name
                       ? MeshAxisAttr::get(plan.getContext(), axis.getName(),
                                           size, axis.getKind())
                       : axis);
  return plan.withMesh(MeshAttr::get(plan.getContext(), axes));
}

static PlanAttr withSeed(PlanAttr plan, SeedAttr seed) {
  SmallVector<SeedAttr> seeds;
  for (SeedAttr other : plan.getSeeds())
    if (other.getPattern() != seed.getPattern())
      seeds.push_back(other);
  seeds.push_back(seed);
  return plan.withSeeds(seeds);
}

FailureOr<PlanAttr>
pp::withChange(PlanAttr plan, StringRef change,
               function_ref<InFlightDiagnostic()> emitError) {
  if (isSeedChange(change)) {
    auto seed =
        dyn_cast_or_null<SeedAttr>(parseAttribute(change, plan.getContext()));
    if (!seed)
      return emitError() << "expects a #pp.seed, got " << change;
    plan = withSeed(plan, seed);
  } else {
    for (StringRef word : splitWords(change)) {
      auto [key, value] = word.split('=');
      const PlanKeyInfo *info = lookupPlanKey(key);
      // A mesh may call an axis as some key is called.
      const bool isAxis = !info || info->place == PlanKeyInfo::Place::Axis ||
                          plan.getMesh().lookup(key);
      const StringRef axis =
          info && !info->axis.empty() && !plan.getMesh().lookup(key)
              ? StringRef(info->axis)
              : key;
      int64_t size = 0;
      if (isAxis && !plan.getMesh().lookup(axis))
        return emitError()
               << "expects an axis that the mesh has in one part, got " << axis
               << " and " << plan.getMesh();
      if (!isAxis)
        plan = plan.withSetting(info->key, value);
      else if (!value.getAsInteger(10, size) && size > 0)
        plan = withSize(plan, axis, size);
      else
        return emitError() << "expects key=value, got " << word;
    }
  }
  if (failed(PlanAttr::verify(emitError, plan.getMesh(), plan.getSeeds(),
                              plan.getCuts(), plan.getOptimizer(),
                              plan.getSettings())))
    return failure();
  return plan;
}
