//===- FindSeeds.cpp - chooses seeds for a plan ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/FindSeeds.h"
#include "LayoutRegions.h"
#include "NamedSeeds.h"
#include "SeedCosts.h"
#include "TensorSeeds.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace mlir;
using namespace pp;

/// Limit of products, those of most work, for which additional splits are
/// tried: a product of all layers counts once.
static constexpr size_t kMostProducts = 8;
/// The share of the step that additional seeds must save: predictions are no
/// more precise.
static constexpr double kGain = 0.01;

namespace {

/// Splits besides those that follow from the graph.
struct Choice {
  SmallVector<const SplitOption *> options;
  std::optional<unsigned> shared; ///< RegionAxes::shared
};

/// Classes that the axis does not divide, and the sizes that its part for them
/// may have.
struct UnevenClasses {
  SmallVector<int64_t> partSizes;
  SmallVector<FactorClasses::Class> classes;
};

/// Seeds, and the time of a step under them if requested.
struct WeighedPlan {
  PlanAttr plan;
  std::optional<StepCost> cost;
};

class SeedFinder {
public:
  SeedFinder(func::FuncOp main, PlanAttr plan)
      : main(main), plan(plan), mesh(plan.getMesh()),
        tensors(main, mesh.sizeOf(kTensorAxis)) {}

  FailureOr<PlanAttr> run();

private:
  FailureOr<PlanAttr> build(const Choice &choice);
  FailureOr<WeighedPlan> weigh();
  FailureOr<WeighedPlan> weighParts();
  LogicalResult addUneven(const ParameterDim &split);
  bool isMerged(const ParameterDim &split) const {
    return tensors.classesOf(split.parameter, split.dim).size() > 1;
  }
  void setPart(const UnevenClasses &alike, int64_t size);
  void dropSplit(const SeedLayouts &layouts);
  LogicalResult collectInputs();
  void collectSequences();
  LogicalResult addInput(BlockArgument input);
  LogicalResult collectParameters();
  bool splitsTensors() const { return !mesh.partsOf(kTensorAxis).empty(); }
  SmallVector<StringAttr> presentAxes(ArrayRef<StringRef> names);
  DimShardingAttr spell(ArrayRef<StringAttr> axes, bool isOpen = false) {
    return DimShardingAttr::get(main.getContext(), axes, isOpen);
  }

  func::FuncOp main;
  PlanAttr plan;
  MeshAttr mesh;
  TensorSeeds tensors;
  /// The axes that split batches, sequences, and these with `sequence =
  /// "true"`.
  SmallVector<StringAttr> batch, sequence, between;
  SmallVector<NamedSharding> inputs, sequences;
  SmallVector<ParameterDim> parameters; ///< that `tp` splits
  /// Those with a part of `tp` only, which may take other parts.
  AxisParts parts;
  SmallVector<UnevenClasses> uneven;
  llvm::DenseSet<FactorClasses::Class> noted; ///< what the axis does not divide
  std::unique_ptr<SeedCosts> costs;
  /// Other splits of `tp`, as alternatives.
  SmallVector<SmallVector<SplitOption>> options;
};

/// The dimension of an input that is the sequence, or nothing.
std::optional<unsigned> findSequence(func::FuncOp main, unsigned index) {
  auto dims = main.getArgAttrOfType<ArrayAttr>(index, attrs::kDims);
  for (auto [dim, name] :
       llvm::enumerate(dims ? dims.getValue() : ArrayRef<Attribute>()))
    if (cast<StringAttr>(name) == "sequence")
      return dim;
  return std::nullopt;
}

/// The size of the largest of the dimensions.
int64_t findLargest(ArrayRef<ParameterDim> dimensions) {
  int64_t largest = 0;
  for (auto [argument, dim] : dimensions)
    largest = std::max(
        largest, cast<RankedTensorType>(argument.getType()).getDimSize(dim));
  return largest;
}

/// True if the choice deals the classes of an option in the same way, or some
/// of them in another.
bool isDealt(const SplitOption &option, const Choice &choice) {
  AxisParts dealt;
  for (const SplitOption *other : choice.options)
    dealt.insert(other->classes.begin(), other->classes.end());
  size_t alike = 0;
  for (auto [number, part] : option.classes)
    if (auto found = dealt.find(number); found != dealt.end()) {
      if (found->second != part)
        return true;
      ++alike;
    }
  return alike == option.classes.size();
}

/// Faster, or as fast and smaller; above all, no axis is for nothing.
bool isBetter(const StepCost &cost, const StepCost &least) {
  const bool isFaster = cost.seconds < (1 - kGain) * least.seconds;
  const bool isSmaller =
      cost.seconds <= least.seconds && cost.bytes < (1 - kGain) * least.bytes;
  return cost.usesAllAxes == least.usesAllAxes ? isFaster || isSmaller
                                               : cost.usesAllAxes;
}

/// True if `seed` gives a dimension to other axes, as one of experts to "ep".
bool splitsOtherwise(SeedAttr seed, const NamedSharding &parameter) {
  return matchesPattern(seed.getPattern(), parameter.name) &&
         llvm::any_of(llvm::zip(seed.getDims(), parameter.dims), [](auto pair) {
           auto [given, wanted] = pair;
           return !given.getAxes().empty() && !wanted.getAxes().empty() &&
                  given.getAxes() != wanted.getAxes();
         });
}

SmallVector<StringAttr> SeedFinder::presentAxes(ArrayRef<StringRef> names) {
  SmallVector<StringAttr> axes;
  for (StringRef name : names)
    llvm::append_range(axes, mesh.partsOf(name));
  return axes;
}

LogicalResult SeedFinder::addInput(BlockArgument input) {
  unsigned index = input.getArgNumber();
  int64_t rank = cast<RankedTensorType>(input.getType()).getRank();
  if (rank == 0 || isGiven(input))
    return success();
  std::optional<unsigned> dim = findSequence(main, index);
  const bool isShared = dim && !sequence.empty();
  SmallVector<DimShardingAttr> dims(rank, spell({}));
  if (dim && !between.empty()) {
    if (failed(checkSize(input, *dim, mesh, between)))
      return failure();
    SmallVector<DimShardingAttr> split(rank, spell({}, /*isOpen=*/true));
    split[*dim] = spell(between);
    sequences.push_back({getArgName(main, index), split});
  } else if (isShared && failed(checkSize(input, *dim, mesh, sequence))) {
    return failure();
  }
  if (dim)
    dims[*dim] = spell(sequence, /*isOpen=*/!between.empty());
  const std::optional<unsigned> batchDim = getBatchDim(main, index);
  const bool isBatch = batchDim && !batch.empty();
  if (isBatch)
    dims[*batchDim] = spell(batch);
  if (isShared || isBatch)
    inputs.push_back({getArgName(main, index), dims});
  return success();
}

LogicalResult SeedFinder::collectInputs() {
  bool hasSequence = false;
  for (BlockArgument argument : main.getArguments()) {
    std::optional<Role> role = getArgRole(main, argument.getArgNumber());
    if (role != Role::Input && role != Role::Label)
      continue;
    hasSequence |= findSequence(main, argument.getArgNumber()).has_value();
    if (failed(addInput(argument)))
      return failure();
  }
  if (hasSequence || (sequence.empty() && between.empty()))
    return success();
  return main.emitError("expects an input whose pp.dims name a \"sequence\" "
                        "for ")
         << (sequence.empty() ? "sequence = \"true\"" : "the axis \"sp\"")
         << ", got none: leave " << (sequence.empty() ? "sequence" : "sp")
         << " out, or name the dimension of an input";
}

/// If the model names values along the sequence without other dimensions to
/// split, such as heads, these are split instead of the inputs, so that
/// look-ups of inputs may be split otherwise.
void SeedFinder::collectSequences() {
  SmallVector<NamedSharding> named;
  for (auto name : main.getOps<NameOp>()) {
    if (!name.getDims() || name.getGradient())
      continue;
    NamedSharding sharding{name.getName(), {}};
    bool isSequence = false, hasOthers = false;
    for (StringRef dim : name.getDims()->getAsValueRange<StringAttr>()) {
      isSequence |= dim == "sequence";
      hasOthers |= dim != "sequence" && dim != "batch" && !dim.empty();
      sharding.dims.push_back(dim == "sequence" ? spell(between)
                                                : spell({}, /*isOpen=*/true));
    }
    if (isSequence && !hasOthers)
      named.push_back(std::move(sharding));
  }
  if (!named.empty())
    sequences = std::move(named);
}

LogicalResult SeedFinder::collectParameters() {
  if (failed(tensors.collect()))
    return failure();
  SmallVector<ParameterDim> split = tensors.select();
  SmallVector<ParameterDim> lookedUp = tensors.selectLookedUp(split);
  if (plan.isOn(PlanKey::Vocab) && lookedUp.empty() &&
      !tensors.splitsGivenLookedUp())
    return main.emitError(
        "vocab = \"true\" expects a parameter in which an input looks "
        "something "
        "up and which neither tp nor pp.sharding splits, got none");
  if (plan.isOn(PlanKey::Vocab) || (plan.getWord(PlanKey::Vocab) == "auto" &&
                                    findLargest(lookedUp) > findLargest(split)))
    llvm::append_range(split, lookedUp);
  for (const ParameterDim &one : split) {
    auto type = cast<RankedTensorType>(one.parameter.getType());
    const int64_t size = type.getDimSize(one.dim),
                  shards = mesh.sizeOf(kTensorAxis);
    // As the only key-value head of many queries: whole on every device.
    if (size == 1)
      continue;
    // Another class takes the rest of a merged dimension.
    const bool isUneven = size < shards ? !canRepeat(size, shards)
                                        : size % shards != 0 && !isMerged(one);
    if (isUneven && failed(addUneven(one)))
      return failure();
    parameters.push_back(one);
  }
  return success();
}

/// Notes a dimension that the axis does not divide. All layers have the same
/// part.
LogicalResult SeedFinder::addUneven(const ParameterDim &split) {
  const FactorClasses::Class number = tensors.classOf(split);
  if (!noted.insert(number).second)
    return success();
  SmallVector<int64_t> sizes = tensors.findPartSizes(split);
  if (sizes.empty())
    return checkSize(split.parameter, split.dim, mesh,
                     presentAxes({kTensorAxis}), /*mayRepeat=*/true);
  auto *alike = llvm::find_if(uneven, [&](const UnevenClasses &other) {
    return other.partSizes == sizes;
  });
  if (alike == uneven.end()) {
    uneven.push_back({std::move(sizes), {}});
    alike = &uneven.back();
  }
  alike->classes.push_back(number);
  return success();
}

void SeedFinder::setPart(const UnevenClasses &alike, int64_t size) {
  for (FactorClasses::Class number : alike.classes)
    if (size == mesh.sizeOf(kTensorAxis))
      parts.erase(number);
    else
      parts[number] = {1, size};
}

FailureOr<PlanAttr> SeedFinder::build(const Choice &choice) {
  AxisParts dealt(parts);
  for (const SplitOption *option : choice.options)
    dealt.insert(option->classes.begin(), option->classes.end());
  const std::optional<TensorAxis> axis = TensorAxis::divide(mesh, dealt);
  if (!axis) {
    std::set<int64_t> ends;
    for (const auto &[number, part] : dealt)
      ends.insert({part.before, part.end()});
    return main.emitError("expects sizes that one division of \"")
           << kTensorAxis << "\" = " << mesh.sizeOf(kTensorAxis)
           << " fits, got parameters that split it after "
           << llvm::join(
                  llvm::map_range(
                      ends, [](int64_t end) { return std::to_string(end); }),
                  ", ")
           << " devices: each has to divide the next; give another size, or a "
              "plan whose seeds leave some of these parameters whole";
  }

  SmallVector<SeedAttr> seeds;
  appendSeeds(main, axis->rename(inputs), /*priority=*/0, seeds);
  auto tensorAxes = [&](Value value, unsigned dim) {
    SmallVector<StringAttr> axes;
    if (!splitsTensors())
      return axes;
    for (FactorClasses::Class number : tensors.classesOf(value, dim)) {
      if (auto part = dealt.find(number); part != dealt.end())
        llvm::append_range(axes, axis->namesOf(part->second));
      else if (tensors.isSelected(number) && axes.empty())
        axes = axis->names();
    }
    return axes;
  };
  if (failed(appendRegionSeeds(main, axis->mesh(),
                               {batch, sequence, tensorAxes, choice.shared},
                               seeds)))
    return failure();

  llvm::MapVector<Value, SmallVector<DimShardingAttr>> ofParameters;
  auto split = [&](BlockArgument parameter, unsigned dim,
                   ArrayRef<StringAttr> axes) {
    const int64_t rank = cast<RankedTensorType>(parameter.getType()).getRank();
    SmallVector<DimShardingAttr> &dims =
        ofParameters
            .try_emplace(parameter, SmallVector<DimShardingAttr>(
                                        rank, spell({}, /*isOpen=*/true)))
            .first->second;
    // If two dimensions are of one class, an axis splits one of them.
    const bool isThere = llvm::any_of(dims, [&](DimShardingAttr other) {
      return llvm::any_of(other.getAxes(), [&](StringAttr axis) {
        return llvm::is_contained(axes, axis);
      });
    });
    if (!axes.empty() && (!isThere || !dims[dim].getAxes().empty()))
      dims[dim] = spell(axes);
  };
  for (const ParameterDim &one : parameters) {
    auto part = dealt.find(tensors.classOf(one));
    split(one.parameter, one.dim,
          isMerged(one) || part == dealt.end() ? axis->names()
                                               : axis->namesOf(part->second));
  }
  for (const SplitOption *option : choice.options)
    for (BlockArgument parameter : option->parameters)
      for (auto [dim, part] : option->dims)
        split(parameter, dim, axis->namesOf(part));
  SmallVector<NamedSharding> tensorSeeds;
  for (auto &[parameter, dims] : ofParameters)
    tensorSeeds.push_back(
        {getArgName(main, cast<BlockArgument>(parameter).getArgNumber()),
         std::move(dims)});
  llvm::erase_if(tensorSeeds, [&](const NamedSharding &parameter) {
    const bool isOpen = llvm::all_of(parameter.dims, [](DimShardingAttr dim) {
      return dim.getAxes().empty();
    });
    return isOpen || llvm::any_of(seeds, [&](SeedAttr seed) {
             return splitsOtherwise(seed, parameter);
           });
  });
  appendSeeds(main, tensorSeeds, /*priority=*/1, seeds);
  appendSeeds(main, axis->rename(sequences), /*priority=*/2, seeds);
  return plan.withMesh(axis->mesh()).withSeeds(seeds);
}

/// Removes options that the axis splits anyway, because their surroundings are
/// split.
void SeedFinder::dropSplit(const SeedLayouts &layouts) {
  llvm::erase_if(options, [&](const SmallVector<SplitOption> &alternatives) {
    return llvm::all_of(alternatives.front().parameters,
                        [&](BlockArgument parameter) {
                          return layouts.splitsEvenly(parameter, kTensorAxis);
                        });
  });
}

/// Splits what the axes leave whole if that takes less time, or as much and
/// less memory.
FailureOr<WeighedPlan> SeedFinder::weigh() {
  if (splitsTensors())
    options = tensors.findOptions(parts);
  auto tensorAxes = [&](Value value, unsigned dim) {
    const bool isSplit =
        splitsTensors() &&
        llvm::any_of(tensors.classesOf(value, dim),
                     [&](auto number) { return tensors.isSelected(number); });
    return isSplit ? presentAxes({kTensorAxis}) : SmallVector<StringAttr>();
  };
  const SmallVector<unsigned> shareable =
      findShareable(main, mesh, {batch, sequence, tensorAxes, std::nullopt});
  Choice chosen;
  if (options.empty() && shareable.empty() && uneven.empty()) {
    FailureOr<PlanAttr> only = build(chosen);
    if (failed(only))
      return failure();
    return WeighedPlan{*only, std::nullopt};
  }

  if (!costs)
    costs = std::make_unique<SeedCosts>(main, mesh, getTopology(plan));
  StepCost least;
  PlanAttr built;
  auto consider = [&](const Choice &choice, bool isFirst, Choice &best) {
    // A trial that fails is not chosen, and its errors are not reported.
    std::optional<ScopedDiagnosticHandler> quiet;
    if (!isFirst)
      quiet.emplace(main.getContext(), [](Diagnostic &) { return success(); });
    FailureOr<PlanAttr> trial = build(choice);
    if (failed(trial))
      return success(!isFirst);
    FailureOr<StepCost> cost =
        costs->measure(*trial, [&](const SeedLayouts &layouts) {
          if (isFirst)
            dropSplit(layouts);
        });
    if (failed(cost))
      return success(!isFirst);
    if (isFirst || isBetter(*cost, least)) {
      best = choice;
      least = *cost;
      built = *trial;
    }
    return success();
  };
  if (failed(consider(chosen, /*isFirst=*/true, chosen)))
    return failure();
  options.truncate(std::min(options.size(), kMostProducts));
  Choice best = chosen;
  for (unsigned dim : shareable) {
    Choice trial = chosen;
    trial.shared = dim;
    if (failed(consider(trial, /*isFirst=*/false, best)))
      return failure();
  }
  for (const SmallVector<SplitOption> &alternatives : options) {
    chosen = best;
    for (const SplitOption &option : alternatives) {
      if (isDealt(option, chosen))
        continue;
      Choice trial = chosen;
      trial.options.push_back(&option);
      if (failed(consider(trial, /*isFirst=*/false, best)))
        return failure();
    }
  }
  return WeighedPlan{built, least};
}

/// The same under each part that dimensions may have which the axis does not
/// divide.
FailureOr<WeighedPlan> SeedFinder::weighParts() {
  if (uneven.empty())
    return weigh();
  for (const UnevenClasses &alike : uneven)
    setPart(alike, alike.partSizes.front());
  FailureOr<WeighedPlan> best = failure();
  {
    // One size that works is enough.
    ScopedDiagnosticHandler quiet(main.getContext(),
                                  [](Diagnostic &) { return success(); });
    best = weigh();
    for (const UnevenClasses &alike : uneven) {
      int64_t chosen = alike.partSizes.front();
      for (int64_t size : ArrayRef(alike.partSizes).drop_front()) {
        setPart(alike, size);
        FailureOr<WeighedPlan> trial = weigh();
        if (failed(trial) ||
            (succeeded(best) && !isBetter(*trial->cost, *best->cost)))
          continue;
        best = trial;
        chosen = size;
      }
      setPart(alike, chosen);
    }
  }
  // None does: report the first error.
  return succeeded(best) ? best : weigh();
}

FailureOr<PlanAttr> SeedFinder::run() {
  batch = presentAxes({"mb", "dp", "ep"});
  sequence = presentAxes({"sp"});
  if (plan.isOn(PlanKey::Sequence))
    between = presentAxes({"sp", "tp"});
  if (failed(collectInputs()) ||
      (splitsTensors() && failed(collectParameters())))
    return failure();
  if (!between.empty())
    collectSequences();
  FailureOr<WeighedPlan> best = weighParts();
  if (failed(best))
    return failure();
  return best->plan;
}

} // namespace

FailureOr<PlanAttr> pp::withSeeds(func::FuncOp main, PlanAttr plan) {
  return plan.getSeeds().empty() ? SeedFinder(main, plan).run() : plan;
}
