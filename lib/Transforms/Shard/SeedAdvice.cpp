//===- SeedAdvice.cpp - seeds that would split an op ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "SeedAdvice.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Transforms/Sources.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pp;

bool pp::concerns(PlanKey key, StringRef axis) {
  return llvm::any_of(getInfo(key).getNeeded(), [&](PlanKey needed) {
    return getInfo(needed).axis == MeshAxisAttr::getWhole(axis);
  });
}

SeedAdvice::SeedAdvice(func::FuncOp main, const MeshView &mesh, PlanAttr plan)
    : main(main), mesh(mesh), plan(plan), dims(main) {
  llvm::StringMap<std::pair<Attribute, Attribute>> layers;
  for (BlockArgument argument : main.getArguments()) {
    const unsigned index = argument.getArgNumber();
    Attribute shape = main.getArgAttr(index, attrs::kUnpaddedShape);
    if (!shape)
      shape = Builder(argument.getContext())
                  .getDenseI64ArrayAttr(
                      cast<RankedTensorType>(argument.getType()).getShape());
    const std::pair<Attribute, Attribute> its{
        shape, main.getArgAttr(index, attrs::kSharding)};
    const std::string name = generalize(getArgName(main, index));
    if (layers.try_emplace(name, its).first->second != its)
      mixed.insert(name);
  }
  for (BlockArgument argument : main.getArguments())
    if (const Role role = *getArgRole(main, argument.getArgNumber());
        role != Role::State)
      enter(argument, nameOf(argument),
            role == Role::Param ? Named::Parameter : Named::Input);
  for (auto constraint : main.getOps<ShardingConstraintOp>())
    for (SeedAttr seed : plan ? plan.getSeeds() : ArrayRef<SeedAttr>())
      if (spellSeed(seed) == findRoot(constraint.getLoc())) {
        enter(constraint, seed.getPattern().str(), Named::Inside);
        break;
      }
}

/// The name of all layers, if these are alike.
std::string SeedAdvice::nameOf(BlockArgument argument) const {
  const StringRef name = getArgName(main, argument.getArgNumber());
  std::string general = generalize(name);
  return mixed.contains(general) ? name.str() : general;
}

void SeedAdvice::enter(Value value, std::string name, Named::Kind kind) {
  values.push_back(value);
  for (int64_t dim :
       llvm::seq(cast<RankedTensorType>(value.getType()).getRank()))
    named[dims.getClasses().classesOf(value, dim).front()].push_back(
        {value, unsigned(dim), name, kind});
}

/// Whether the plan sets a key, or has chosen its dimension for `axis`.
bool SeedAdvice::isOn(PlanKey key, int axis) {
  auto [answer, isNew] = areOn.try_emplace({key, axis}, false);
  if (isNew)
    answer->second =
        (plan && plan.isOn(key)) || llvm::any_of(values, [&](Value value) {
          return llvm::any_of(
              llvm::enumerate(getLayout(value, mesh)), [&](const auto &entry) {
                return llvm::is_contained(entry.value(), axis) &&
                       dims.isOf(key, value, entry.index());
              });
        });
  return answer->second;
}

bool SeedAdvice::splitsParameters(int axis) {
  auto [answer, isNew] = parameterAxes.try_emplace(axis, false);
  if (isNew)
    answer->second = llvm::any_of(named, [&](const auto &entry) {
      return llvm::any_of(entry.second, [&](const Named &each) {
        return each.kind == Named::Parameter &&
               splits(getLayout(each.value, mesh), axis);
      });
    });
  return answer->second;
}

/// Values with a dimension of the class that can be split more, preferably of
/// the kind that the axis splits elsewhere. The same for all ops.
const SeedAdvice::Ranked &
SeedAdvice::findNamed(const FactorClasses::Class &part, int axis) {
  auto [best, isNew] = bests.try_emplace({part, axis});
  auto found = named.find(part);
  if (!isNew || found == named.end())
    return best->second;
  const int64_t size = dims.getClasses().size(part);
  for (const Named &each : found->second) {
    const Layout layout = getLayout(each.value, mesh);
    const int64_t shards = mesh.size(layout[each.dim]) * mesh.size(axis);
    if (splits(layout, axis) || size < shards)
      continue;
    const int rank =
        1 + 2 * (size % shards == 0) +
        (splitsParameters(axis) == (each.kind == Named::Parameter));
    if (rank > best->second.rank)
      best->second = {&each, rank};
  }
  return best->second;
}

/// A value with one of the factors. A plan cannot name a part of an axis.
const SeedAdvice::Named *
SeedAdvice::findNamed(Operation *op, ArrayRef<int64_t> factors, int axis) {
  const StringRef name = mesh.name(axis).getValue();
  if (MeshAxisAttr::getWhole(name) != name)
    return nullptr;
  Ranked best;
  for (int64_t factor : factors)
    if (const Ranked &its =
            findNamed(dims.getClasses().classesOf(op, factor).front(), axis);
        its.rank > best.rank)
      best = its;
  return best.named;
}

/// The plan's seed for a name; or nothing.
SeedAttr SeedAdvice::findSeed(StringRef name, int64_t rank,
                              int64_t priority) const {
  MLIRContext *context = mesh.attr().getContext();
  const auto open = DimShardingAttr::get(context, {}, /*isOpen=*/true);
  SmallVector<DimShardingAttr> said(rank, open);
  bool isBarrier = false;
  for (SeedAttr seed : plan ? plan.getSeeds() : ArrayRef<SeedAttr>()) {
    if (seed.getPattern() != name || int64_t(seed.getDims().size()) != rank)
      continue;
    for (auto [mine, its] : llvm::zip_equal(said, seed.getDims()))
      if (mine == open)
        mine = its;
    priority = seed.getPriority();
    isBarrier |= seed.getIsBarrier();
  }
  return SeedAttr::get(context, StringAttr::get(context, name), said, priority,
                       isBarrier);
}

static std::string spell(SeedAttr seed) {
  std::string text;
  llvm::raw_string_ostream(text) << seed;
  return text;
}

/// With `axes` for a dimension.
static SeedAttr withAxes(SeedAttr seed, unsigned dim,
                         ArrayRef<StringAttr> axes) {
  SmallVector<DimShardingAttr> dims(seed.getDims());
  dims[dim] = DimShardingAttr::get(seed.getContext(), axes, /*isOpen=*/false);
  return SeedAttr::get(seed.getContext(), seed.getPattern(), dims,
                       seed.getPriority(), seed.getIsBarrier());
}

static bool hasAxis(SeedAttr seed, StringAttr axis) {
  return llvm::any_of(seed.getDims(), [&](DimShardingAttr dim) {
    return llvm::is_contained(dim.getAxes(), axis);
  });
}

/// A seed by which `axis`, too, splits a named value; empty if the present seed
/// says so and another one overrules it.
std::string SeedAdvice::spellSplit(const Named &named, StringAttr axis) const {
  const int64_t rank = cast<RankedTensorType>(named.value.getType()).getRank();
  const int64_t priority = named.kind == Named::Input ? 0 : 1;
  SeedAttr seed = findSeed(named.name, rank, priority);
  if (auto argument = dyn_cast<BlockArgument>(named.value);
      argument && hasAxis(seed, axis))
    seed = findSeed(getArgName(main, argument.getArgNumber()), rank, priority);
  if (hasAxis(seed, axis))
    return "";
  SmallVector<StringAttr> axes(seed.getDims()[named.dim].getAxes());
  axes.push_back(axis);
  return spell(withAxes(seed, named.dim, axes));
}

std::string SeedAdvice::spellWhole(BlockArgument argument, unsigned dim) const {
  const int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
  return spell(
      withAxes(findSeed(nameOf(argument), rank, /*priority=*/1), dim, {}));
}

std::vector<std::string> SeedAdvice::find(Operation *op,
                                          ArrayRef<int64_t> factors, int axis,
                                          bool isInside) {
  const StringAttr name = mesh.name(axis);
  std::vector<std::string> ways;
  for (PlanKey key : {PlanKey::Vocab, PlanKey::Sequence})
    if (!isInside && concerns(key, name) && !isOn(key, axis) &&
        llvm::any_of(factors, [&](int64_t factor) {
          return dims.isOf(key, op, factor);
        }))
      ways.push_back(getInfo(key).name.str() + "=true");
  if (const Named *seeded = findNamed(op, factors, axis))
    if (std::string seed = spellSplit(*seeded, name); !seed.empty())
      ways.push_back(std::move(seed));
  return ways;
}
