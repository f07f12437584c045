//===- TensorSeeds.cpp - what tensor parallelism may split ----------------===//
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
#include <map>

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

/// The dimension that a dimension of a value is of what it is made of, as far
/// up as ops keep dimensions.
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
    // Only what is a dimension of the parameter itself can be seeded.
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
             return llvm::any_of(
                        axes.getAxes(),
                        [](StringAttr axis) { return axis == "tp"; }) &&
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

SmallVector<SmallVector<SplitOption>> TensorSeeds::findOptions(int64_t shards) {
  const llvm::DenseSet<Value> given = getGiven();
  // What of a table is split, a key says.
  auto isLookedUp = [&](BlockArgument parameter) {
    const int64_t rank = cast<RankedTensorType>(parameter.getType()).getRank();
    return llvm::any_of(llvm::seq<unsigned>(rank), [&](unsigned dim) {
      return lookedUp.test(classes.classesOf(parameter, dim).front());
    });
  };
  struct Layers {
    double work = 0;
    SmallVector<BlockArgument> parameters;
  };
  std::map<std::string, Layers> found; // by the name of all layers
  for (const auto &[product, parameter] : products) {
    Operation *op = product;
    const ShardingRule rule = cast<ShardingOpInterface>(op).getShardingRule();
    const bool isSplit = llvm::any_of(
        llvm::seq<unsigned>(rule.factors.size()), [&](auto factor) {
          return llvm::any_of(classes.classesOf(op, factor), [&](Class number) {
            return selected.contains(number);
          });
        });
    if (isSplit || given.contains(parameter) || isLookedUp(parameter))
      continue;
    Layers &layers =
        found[generalize(getArgName(main, parameter.getArgNumber()))];
    if (auto cost = dyn_cast<CostOpInterface>(op))
      layers.work += cost.getFlops();
    if (!llvm::is_contained(layers.parameters, parameter))
      layers.parameters.push_back(parameter);
  }
  std::vector<std::pair<std::string, Layers>> byWork(found.begin(),
                                                     found.end());
  llvm::stable_sort(byWork, [](const auto &a, const auto &b) {
    return a.second.work > b.second.work;
  });
  SmallVector<SmallVector<SplitOption>> options;
  for (const auto &[name, layers] : byWork) {
    SmallVector<SplitOption> ofName;
    const auto type =
        cast<RankedTensorType>(layers.parameters.front().getType());
    for (unsigned dim = 0; dim < type.getRank(); ++dim) {
      if (type.getDimSize(dim) < shards)
        continue;
      SplitOption option;
      for (BlockArgument parameter : layers.parameters) {
        if (parameter.getType() != type)
          continue;
        const Class number = classes.classesOf(parameter, dim).front();
        if (summed.test(number))
          continue;
        option.dims.push_back({parameter, dim});
        option.classes.push_back(number);
      }
      if (!option.dims.empty())
        ofName.push_back(std::move(option));
    }
    if (!ofName.empty())
      options.push_back(std::move(ofName));
  }
  return options;
}

bool TensorSeeds::splits(Value value, unsigned dim) const {
  return llvm::any_of(classes.classesOf(value, dim),
                      [&](Class number) { return selected.contains(number); });
}

bool TensorSeeds::splits(const SplitOption &option, Value value,
                         unsigned dim) const {
  return llvm::any_of(classes.classesOf(value, dim), [&](Class number) {
    return llvm::is_contained(option.classes, number);
  });
}
