//===- TensorSeeds.cpp - candidates of tensor parallelism -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "TensorSeeds.h"
#include "NamedSeeds.h"
#include "pp/Analysis/Contraction.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Model.h"
#include "pp/Planner/KeyDims.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <numeric>

using namespace mlir;
using namespace pp;

namespace {

/// The rule of the op that makes `value`, if that has one operand.
std::optional<ShardingRule> getUnaryRule(Value value) {
  auto op = value.getDefiningOp<ShardingOpInterface>();
  if (!op || op->getNumOperands() != 1)
    return std::nullopt;
  return op.getShardingRule();
}

/// Follows a dimension of a value up through ops that keep dimensions.
std::pair<Value, unsigned> traceDim(Value value, unsigned dim) {
  for (auto rule = getUnaryRule(value); rule && rule->keepsDims();
       rule = getUnaryRule(value)) {
    const TensorFactors &operand = rule->operands.front();
    dim = llvm::find(operand, rule->results.front()[dim]) - operand.begin();
    value = value.getDefiningOp()->getOperand(0);
  }
  return {value, dim};
}

/// The parameter whose elements a value has, each once, or an op on each of
/// them; or null.
BlockArgument traceParameter(func::FuncOp main, Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto rule = getUnaryRule(value);
    if (!rule ||
        llvm::any_of(llvm::seq<int64_t>(rule->factors.size()), [&](int64_t f) {
          return rule->factors[f].kind != FactorKind::Parallel ||
                 llvm::none_of(rule->operands.front(),
                               [&](const DimFactors &factors) {
                                 return llvm::is_contained(factors, f);
                               });
        }))
      return {};
    value = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(value);
  return getArgRole(main, argument.getArgNumber()) == Role::Param
             ? argument
             : BlockArgument();
}

/// How many ops lead to each op, on the longest way: an order of program parts
/// that does not depend on how they are listed.
DenseMap<Operation *, int64_t> findDepths(func::FuncOp main) {
  DenseMap<Operation *, int64_t> depths;
  for (Operation &op : main.getBody().front()) {
    int64_t depth = 0;
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        depth = std::max(depth, depths.lookup(producer) + 1);
    depths[&op] = depth;
  }
  return depths;
}

} // namespace

LogicalResult TensorSeeds::collect() {
  for (Operation &op : main.getBody().front().without_terminator()) {
    if (getKind(&op) != Kind::Forward)
      continue;
    auto shardable = dyn_cast<ShardingOpInterface>(op);
    if (!shardable)
      return op.emitError("expects an op with a sharding rule, got ")
             << op.getName();
    ops.push_back({&op, rules.add(shardable.getShardingRule())});
    classes.addOp(&op, *ops.back().second);
  }
  for (BlockArgument argument : main.getArguments())
    classes.addValue(argument);
  summed.resize(classes.numClasses());
  lookedUp.resize(classes.numClasses());
  for (BlockArgument argument : main.getArguments()) {
    std::optional<Role> role = getArgRole(main, argument.getArgNumber());
    if (role != Role::Input && role != Role::Label)
      continue;
    int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim)
      for (Class number : classes.classesOf(argument, dim))
        summed.set(number);
  }
  cut.resize(classes.numClasses());
  depths = findDepths(main);
  for (auto &[op, rule] : ops)
    judge(op, *rule);
  llvm::sort(introductions, [](const Introduction &a, const Introduction &b) {
    return std::tie(a.depth, a.name, a.dim) < std::tie(b.depth, b.name, b.dim);
  });
  return success();
}

void TensorSeeds::judge(Operation *op, const ShardingRule &rule) {
  if (std::optional<unsigned> factor = findLookUp(main, op))
    for (Class number : classes.classesOf(op, *factor))
      lookedUp.set(number);
  BlockArgument parameters[2];
  if (isContraction(op))
    for (unsigned side : {0u, 1u})
      parameters[side] = traceParameter(main, op->getOperand(side));
  bool isLinear = parameters[0] || parameters[1];
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    for (Class number : classes.classesOf(op, index)) {
      if (!factor.mayBeSplit())
        cut.set(number);
      else if (factor.kind == FactorKind::Reduction && !isLinear)
        summed.set(number);
    }
  if (!isLinear)
    return;
  for (BlockArgument parameter : parameters)
    if (parameter)
      products.push_back({op, parameter});
  SmallVector<int64_t> free[2];
  auto findFree = [&](auto product) {
    free[0] = product.getLhsFree();
    free[1] = product.getRhsFree();
  };
  if (auto dot = dyn_cast<DotGeneralOp>(op))
    findFree(dot);
  else
    findFree(cast<ConvolutionOp>(op));
  for (unsigned side : {0u, 1u}) {
    // Only dimensions of the parameter itself can be seeded.
    for (int64_t dim : free[side])
      if (auto [value, of] = traceDim(op->getOperand(side), dim);
          parameters[side] && value == parameters[side])
        introductions.push_back(
            {depths.lookup(op),
             getArgName(main, parameters[side].getArgNumber()),
             parameters[side], of});
  }
}

llvm::DenseSet<Value> TensorSeeds::getGiven() {
  llvm::DenseSet<Value> given;
  for (BlockArgument argument : main.getArguments())
    if (isGiven(argument))
      given.insert(argument);
  return given;
}

bool TensorSeeds::splitsGivenLookedUp() {
  return llvm::any_of(getGiven(), [&](Value value) {
    unsigned index = cast<BlockArgument>(value).getArgNumber();
    auto sharding =
        main.getArgAttrOfType<ShardingAttr>(index, attrs::kSharding);
    return getArgRole(main, index) == Role::Param &&
           llvm::any_of(llvm::enumerate(sharding.getDims()), [&](auto entry) {
             auto [dim, axes] = entry;
             return llvm::any_of(axes.getAxes(),
                                 [](StringAttr axis) {
                                   return MeshAxisAttr::getWhole(axis) ==
                                          kTensorAxis;
                                 }) &&
                    lookedUp.test(classes.classesOf(value, dim).front());
           });
  });
}

SmallVector<ParameterDim>
TensorSeeds::selectLookedUp(ArrayRef<ParameterDim> others) {
  llvm::DenseSet<Value> split = getGiven();
  for (const ParameterDim &other : others)
    split.insert(other.parameter);
  SmallVector<BlockArgument> parameters;
  for (BlockArgument argument : main.getArguments())
    if (getArgRole(main, argument.getArgNumber()) == Role::Param)
      parameters.push_back(argument);
  llvm::sort(parameters, [&](BlockArgument a, BlockArgument b) {
    return getArgName(main, a.getArgNumber()) <
           getArgName(main, b.getArgNumber());
  });
  llvm::DenseSet<Class> taken;
  SmallVector<ParameterDim> seeds;
  for (BlockArgument argument : parameters) {
    int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
    for (int64_t dim = 0; dim < rank && !split.contains(argument); ++dim) {
      Class number = classes.classesOf(argument, dim).front();
      if (!lookedUp.test(number) || !taken.insert(number).second)
        continue;
      split.insert(argument);
      seeds.push_back({argument, static_cast<unsigned>(dim)});
    }
  }
  return seeds;
}

SmallVector<ParameterDim> TensorSeeds::select() {
  // Parameters of each class that qualifies.
  DenseMap<Class, SmallVector<BlockArgument>> holders;
  for (BlockArgument argument : main.getArguments()) {
    if (getArgRole(main, argument.getArgNumber()) != Role::Param)
      continue;
    int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim)
      holders[classes.classesOf(argument, dim).front()].push_back(argument);
  }
  llvm::DenseSet<Value> split = getGiven();
  SmallVector<ParameterDim> seeds;
  for (const Introduction &introduction : introductions) {
    BlockArgument argument = introduction.parameter;
    unsigned dim = introduction.dim;
    Class number = classes.classesOf(argument, dim).front();
    if (summed.test(number) || cut.test(number))
      continue;
    if (!selected.contains(number)) {
      // A parameter is split once: of two classes that meet in one, the first
      // is taken; of two as early, that whose parameter's name comes first.
      if (llvm::any_of(holders[number], [&](BlockArgument holder) {
            return split.contains(holder);
          }))
        continue;
      selected.insert(number);
      split.insert(holders[number].begin(), holders[number].end());
    }
    if (llvm::none_of(seeds, [&](const ParameterDim &seed) {
          return seed.parameter == argument && seed.dim == dim;
        }))
      seeds.push_back({argument, dim});
  }
  return seeds;
}

//===----------------------------------------------------------------------===//
// Other possible splits
//===----------------------------------------------------------------------===//

/// A parameter of all layers.
struct TensorSeeds::Layers {
  double work = 0; ///< of its products
  SmallVector<BlockArgument> parameters;
  /// The class that is selected of the products of each, and its part of the
  /// axis, which is not all of it.
  SmallVector<std::optional<Class>> selected;
  AxisPart part;

  ArrayRef<int64_t> shape() const {
    return cast<RankedTensorType>(parameters.front().getType()).getShape();
  }
};

SmallVector<int64_t> TensorSeeds::findPartSizes(const ParameterDim &split) {
  const Class number = classOf(split);
  const int64_t own = classes.size(number);
  // For parameters with the dimension: other sizes that could have a part, and
  // those of the largest parameter.
  SmallVector<int64_t> others, ofLargest;
  int64_t largest = 0;
  for (const Introduction &introduction : introductions) {
    const BlockArgument parameter = introduction.parameter;
    if (classOf({parameter, introduction.dim}) != number)
      continue;
    auto type = cast<RankedTensorType>(parameter.getType());
    SmallVector<int64_t> found;
    for (unsigned dim : llvm::seq<unsigned>(type.getRank()))
      if (const Class other = classOf({parameter, dim});
          other != number && !summed.test(other) && !cut.test(other))
        found.push_back(classes.size(other));
    llvm::append_range(others, found);
    if (!found.empty() && type.getNumElements() > largest) {
      largest = type.getNumElements();
      ofLargest = std::move(found);
    }
  }
  const bool mayHaveAll = own >= shards;
  const int64_t even = std::gcd(own, shards);
  if (even > 1 && llvm::any_of(ofLargest, [&](int64_t other) {
        return other % (shards / even) == 0;
      })) // beside the whole axis, an option (findOptions)
    return mayHaveAll ? SmallVector<int64_t>() : SmallVector<int64_t>{even};
  auto heldUnder = [&](int64_t size, int64_t other) -> int64_t {
    return llvm::divideCeil(own, size) * llvm::divideCeil(other, shards / size);
  };
  SmallVector<std::pair<int64_t, int64_t>> sizes; // what a device has, size
  for (int64_t size = std::min(own, shards - 1); size > 0; --size) {
    if (shards % size)
      continue;
    std::optional<int64_t> least;
    for (int64_t other : others)
      if (const int64_t held = heldUnder(size, other);
          other >= shards / size && held < least.value_or(held + 1) &&
          (!mayHaveAll || held < heldUnder(shards, other)))
        least = held;
    if (least)
      sizes.push_back({*least, size});
  }
  llvm::stable_sort(sizes, llvm::less_first());
  if (mayHaveAll && !sizes.empty())
    sizes.insert(sizes.begin(), {0, shards});
  return llvm::to_vector(llvm::make_second_range(sizes));
}

AxisPart TensorSeeds::partOf(Class number, const AxisParts &parts) const {
  auto found = parts.find(number);
  return found != parts.end()
             ? found->second
             : AxisPart{1, std::gcd(classes.size(number), shards)};
}

/// The class of an op's factors that is selected, of several that which has
/// most of the axis.
std::optional<FactorClasses::Class>
TensorSeeds::findSelected(Operation *op, const AxisParts &parts) const {
  const ShardingRule rule = cast<ShardingOpInterface>(op).getShardingRule();
  std::optional<Class> best;
  for (unsigned factor : llvm::seq<unsigned>(rule.factors.size()))
    for (Class number : classes.classesOf(op, factor))
      if (selected.contains(number) &&
          (!best || partOf(number, parts).size > partOf(*best, parts).size))
        best = number;
  return best;
}

std::vector<TensorSeeds::Layers>
TensorSeeds::findLayers(const AxisParts &parts) {
  const llvm::DenseSet<Value> given = getGiven();
  // A key decides about splitting tables.
  auto isLookedUp = [&](BlockArgument parameter) {
    const int64_t rank = cast<RankedTensorType>(parameter.getType()).getRank();
    return llvm::any_of(llvm::seq<unsigned>(rank), [&](unsigned dim) {
      return lookedUp.test(classOf({parameter, dim}));
    });
  };
  // By the name of all layers and the type, for what a name counts may be parts
  // of a layer, too.
  std::map<std::string, Layers> found;
  for (const auto &[op, parameter] : products) {
    const std::optional<Class> split = findSelected(op, parts);
    const AxisPart part = split ? partOf(*split, parts) : AxisPart();
    if (part.size == shards || given.contains(parameter) ||
        isLookedUp(parameter))
      continue;
    std::string key = generalize(getArgName(main, parameter.getArgNumber()));
    llvm::raw_string_ostream(key) << ' ' << parameter.getType();
    Layers &layers = found[key];
    if (auto cost = dyn_cast<CostOpInterface>(op))
      layers.work += cost.getFlops();
    if (layers.parameters.empty())
      layers.part = part;
    else if (layers.part != part ||
             llvm::is_contained(layers.parameters, parameter))
      continue;
    layers.parameters.push_back(parameter);
    layers.selected.push_back(split);
  }
  std::vector<Layers> byWork;
  for (auto &[name, layers] : found)
    byWork.push_back(std::move(layers));
  llvm::stable_sort(
      byWork, [](const Layers &a, const Layers &b) { return a.work > b.work; });
  return byWork;
}

void TensorSeeds::addOption(const Layers &layers,
                            ArrayRef<std::pair<unsigned, AxisPart>> parts,
                            SmallVectorImpl<SplitOption> &options) const {
  SplitOption option;
  for (auto [parameter, split] :
       llvm::zip_equal(layers.parameters, layers.selected)) {
    // If the dimension begins with the selected one, it takes all.
    SmallVector<std::pair<unsigned, AxisPart>, 2> dims;
    llvm::SmallDenseMap<Class, AxisPart> dealt;
    if (split)
      dealt[*split] = layers.part;
    bool fits = true;
    for (unsigned dim : llvm::seq<unsigned>(layers.shape().size())) {
      const SmallVector<Class, 2> ofDim = classes.classesOf(parameter, dim);
      const bool isBegun = split && ofDim.front() == *split;
      const auto *asked = llvm::find_if(
          parts, [&](const auto &entry) { return entry.first == dim; });
      if (asked == parts.end()) {
        if (isBegun && layers.part.size > 1)
          dims.push_back({dim, layers.part});
        continue;
      }
      AxisPart part = asked->second;
      fits &= ofDim.size() > (isBegun ? 1 : 0);
      if (!fits)
        break;
      const Class number = ofDim[isBegun ? 1 : 0];
      fits &= !summed.test(number) && dealt.try_emplace(number, part).second;
      dims.push_back({dim, isBegun ? AxisPart{1, part.end()} : part});
    }
    if (!fits || (!option.parameters.empty() && option.dims != dims))
      continue;
    option.dims = std::move(dims);
    option.parameters.push_back(parameter);
    option.classes.insert(dealt.begin(), dealt.end());
  }
  if (!option.parameters.empty())
    options.push_back(std::move(option));
}

SmallVector<SplitOption> TensorSeeds::findOptions(const Layers &layers) const {
  SmallVector<SplitOption> options;
  const AxisPart rest{layers.part.size, shards / layers.part.size};
  const ArrayRef<int64_t> shape = layers.shape();
  for (unsigned dim : llvm::seq<unsigned>(shape.size())) {
    if (shape[dim] >= rest.size)
      addOption(layers, {{dim, rest}}, options);
    const int64_t first = std::gcd(shape[dim], rest.size);
    if (first == 1 || first == rest.size)
      continue;
    const AxisPart major{rest.before, first},
        minor{major.end(), rest.size / first};
    for (unsigned other : llvm::seq<unsigned>(dim + 1, shape.size()))
      if (shape[other] % minor.size == 0)
        addOption(layers, {{dim, major}, {other, minor}}, options);
  }
  return options;
}

SmallVector<SmallVector<SplitOption>>
TensorSeeds::findOptions(const AxisParts &parts) {
  SmallVector<SmallVector<SplitOption>> options;
  for (const Layers &layers : findLayers(parts))
    if (SmallVector<SplitOption> ofName = findOptions(layers); !ofName.empty())
      options.push_back(std::move(ofName));
  return options;
}
