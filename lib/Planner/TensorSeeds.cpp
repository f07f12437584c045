//===- TensorSeeds.cpp - seeds by analysis --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Which dimensions tensor parallelism may split, read off the forward graph: a
// class of dimensions that share a factor qualifies if a contraction with a
// parameter introduces it, the only reductions over it are contractions with
// parameters, no op needs it whole, and no input carries it. On a transformer
// these are the heads and the inner dimension of the feed-forward part: each
// class opens with one contraction and closes with another, between which
// everything is local, and one sum remains (Megatron-LM's scheme).
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/TensorSeeds.h"
#include "pp/Analysis/Contraction.h"
#include "pp/Analysis/FactorClasses.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Model.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace pp;

namespace {

/// The value under its names.
Value skipNames(Value value) {
  while (auto name = value.getDefiningOp<NameOp>())
    value = name.getOperand();
  return value;
}

/// The parameter a value is, up to ops that only recast it; or null.
BlockArgument traceParameter(func::FuncOp main, Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ConvertOp, ReshapeOp, TransposeOp, NameOp>(op))
      return {};
    value = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(value);
  return getArgRole(main, argument.getArgNumber()) == Role::Param
             ? argument
             : BlockArgument();
}

/// True for what an input holds, up to ops that only recast it.
bool isInput(func::FuncOp main, Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ConvertOp, ReshapeOp, TransposeOp, BroadcastOp, NameOp>(op))
      return false;
    value = op->getOperand(0);
  }
  std::optional<Role> role =
      getArgRole(main, cast<BlockArgument>(value).getArgNumber());
  return role == Role::Input || role == Role::Label;
}

class TensorSeeds {
public:
  explicit TensorSeeds(func::FuncOp main) : main(main) {}

  LogicalResult collect();
  /// Parameter dimensions to seed, in order of their introduction.
  SmallVector<std::pair<BlockArgument, unsigned>> select();
  /// Parameter dimensions in which inputs look something up, one per class, of
  /// parameters that `others` do not split; of two, that whose parameter's name
  /// comes first.
  SmallVector<std::pair<BlockArgument, unsigned>>
  selectLookedUp(ArrayRef<std::pair<BlockArgument, unsigned>> others);

private:
  using Class = FactorClasses::Class;
  /// Disqualifies what `rule` says is reduced or needed whole.
  void judge(Operation *op, const ShardingRule &rule);

  func::FuncOp main;
  FactorClasses classes;
  std::vector<std::pair<Operation *, ShardingRule>> ops;
  llvm::BitVector unfit, lookedUp;
  /// A free dimension of a parameter in a contraction.
  struct Introduction {
    int64_t depth; // of the contraction
    StringRef name;
    BlockArgument parameter;
    unsigned dim;
  };
  SmallVector<Introduction> introductions;
  DenseMap<Operation *, int64_t> depths;
};

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

LogicalResult TensorSeeds::collect() {
  for (Operation &op : main.getBody().front().without_terminator()) {
    if (getKind(&op) != Kind::Forward)
      continue;
    auto shardable = dyn_cast<ShardingOpInterface>(op);
    if (!shardable)
      return op.emitError("expects an op with a sharding rule, got ")
             << op.getName();
    ops.push_back({&op, shardable.getShardingRule()});
    classes.addOp(&op, ops.back().second);
  }
  for (BlockArgument argument : main.getArguments())
    classes.addValue(argument);
  unfit.resize(classes.numClasses());
  lookedUp.resize(classes.numClasses());
  for (BlockArgument argument : main.getArguments()) {
    std::optional<Role> role = getArgRole(main, argument.getArgNumber());
    if (role != Role::Input && role != Role::Label)
      continue;
    int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim)
      for (Class number : classes.classesOf(argument, dim))
        unfit.set(number);
  }
  depths = findDepths(main);
  for (auto &[op, rule] : ops)
    judge(op, rule);
  llvm::sort(introductions, [](const Introduction &a, const Introduction &b) {
    return std::tie(a.depth, a.name, a.dim) < std::tie(b.depth, b.name, b.dim);
  });
  return success();
}

void TensorSeeds::judge(Operation *op, const ShardingRule &rule) {
  auto gather = dyn_cast<GatherOp>(op);
  if (gather && isInput(main, gather.getIndices()))
    for (Class number : classes.classesOf(op, gather.getBatchDims()))
      lookedUp.set(number);
  BlockArgument parameters[2];
  if (isContraction(op))
    for (unsigned side : {0u, 1u})
      parameters[side] = traceParameter(main, op->getOperand(side));
  bool isLinear = parameters[0] || parameters[1];
  for (auto [index, factor] : llvm::enumerate(rule.factors))
    if (!factor.mayBeSplit() ||
        (factor.kind == FactorKind::Reduction && !isLinear))
      for (Class number : classes.classesOf(op, index))
        unfit.set(number);
  if (!isLinear)
    return;
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
    // Through a recast the dimensions' numbers differ; only the parameter
    // itself is seeded.
    if (!parameters[side] ||
        skipNames(op->getOperand(side)) != parameters[side])
      continue;
    for (int64_t dim : free[side])
      introductions.push_back(
          {depths.lookup(op), getArgName(main, parameters[side].getArgNumber()),
           parameters[side], static_cast<unsigned>(dim)});
  }
}

SmallVector<std::pair<BlockArgument, unsigned>> TensorSeeds::selectLookedUp(
    ArrayRef<std::pair<BlockArgument, unsigned>> others) {
  llvm::DenseSet<Value> split;
  for (auto [argument, dim] : others)
    split.insert(argument);
  SmallVector<BlockArgument> parameters;
  for (BlockArgument argument : main.getArguments())
    if (getArgRole(main, argument.getArgNumber()) == Role::Param)
      parameters.push_back(argument);
  llvm::sort(parameters, [&](BlockArgument a, BlockArgument b) {
    return getArgName(main, a.getArgNumber()) <
           getArgName(main, b.getArgNumber());
  });
  llvm::DenseSet<Class> taken;
  SmallVector<std::pair<BlockArgument, unsigned>> seeds;
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

SmallVector<std::pair<BlockArgument, unsigned>> TensorSeeds::select() {
  // Parameters of each class that qualifies.
  DenseMap<Class, SmallVector<BlockArgument>> holders;
  for (BlockArgument argument : main.getArguments()) {
    if (getArgRole(main, argument.getArgNumber()) != Role::Param)
      continue;
    int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim)
      holders[classes.classesOf(argument, dim).front()].push_back(argument);
  }
  llvm::DenseSet<Value> split;
  llvm::DenseSet<Class> taken;
  SmallVector<std::pair<BlockArgument, unsigned>> seeds;
  for (const Introduction &introduction : introductions) {
    BlockArgument argument = introduction.parameter;
    unsigned dim = introduction.dim;
    Class number = classes.classesOf(argument, dim).front();
    if (unfit.test(number))
      continue;
    if (!taken.contains(number)) {
      // A parameter is split once: of two classes that meet in one, the first
      // is taken; of two as early, that whose parameter's name comes first.
      if (llvm::any_of(holders[number], [&](BlockArgument holder) {
            return split.contains(holder);
          }))
        continue;
      taken.insert(number);
      split.insert(holders[number].begin(), holders[number].end());
    }
    std::pair<BlockArgument, unsigned> seed = {argument, dim};
    if (!llvm::is_contained(seeds, seed))
      seeds.push_back(seed);
  }
  return seeds;
}

/// `h.3.attn.weight` -> `h.*.attn.weight`
std::string generalize(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, '.');
  for (StringRef &part : parts)
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      part = "*";
  return llvm::join(parts, ".");
}

/// A sharding for one argument or named value.
struct NamedSharding {
  StringRef name;
  SmallVector<DimShardingAttr> dims;
  bool isClosed = false;
};

/// The names that a seed may mean.
SmallVector<StringRef> getSeedable(func::FuncOp main) {
  SmallVector<StringRef> names;
  for (unsigned index = 0; index < main.getNumArguments(); ++index)
    names.push_back(getArgName(main, index));
  for (auto name : main.getOps<NameOp>())
    if (!name.getGradient())
      names.push_back(name.getName());
  return names;
}

/// Seeds with one pattern for all layers where nothing else matches it.
void appendSeeds(func::FuncOp main, ArrayRef<NamedSharding> shardings,
                 int64_t priority, SmallVectorImpl<SeedAttr> &seeds) {
  llvm::MapVector<StringRef, SmallVector<unsigned>> groups; // positions
  SmallVector<std::string> patterns;
  for (const NamedSharding &sharding : shardings)
    patterns.push_back(generalize(sharding.name));
  for (auto [position, pattern] : llvm::enumerate(patterns))
    groups[pattern].push_back(position);
  auto add = [&](StringRef pattern, const NamedSharding &sharding) {
    seeds.push_back(SeedAttr::get(main.getContext(),
                                  StringAttr::get(main.getContext(), pattern),
                                  sharding.dims, priority, sharding.isClosed));
  };
  const SmallVector<StringRef> names = getSeedable(main);
  auto countMatches = [&](StringRef pattern) -> size_t {
    if (!pattern.contains('*')) // a name, and names are unique
      return 1;
    return llvm::count_if(
        names, [&](StringRef name) { return matchesPattern(pattern, name); });
  };
  for (auto &[pattern, members] : groups) {
    const NamedSharding &first = shardings[members.front()];
    bool isUniform = countMatches(pattern) == members.size() &&
                     llvm::all_of(members, [&](unsigned member) {
                       return shardings[member].dims == first.dims;
                     });
    if (isUniform) {
      add(pattern, first);
      continue;
    }
    for (unsigned member : members)
      add(shardings[member].name, shardings[member]);
  }
}

} // namespace

/// The dimension of an input that is the sequence, or nothing.
static std::optional<unsigned> findSequence(func::FuncOp main, unsigned index) {
  auto dims = main.getArgAttrOfType<ArrayAttr>(index, attrs::kDims);
  for (auto [dim, name] :
       llvm::enumerate(dims ? dims.getValue() : ArrayRef<Attribute>()))
    if (cast<StringAttr>(name) == "sequence")
      return dim;
  return std::nullopt;
}

/// The size of the largest of the dimensions.
static int64_t
findLargest(ArrayRef<std::pair<BlockArgument, unsigned>> dimensions) {
  int64_t largest = 0;
  for (auto [argument, dim] : dimensions)
    largest = std::max(
        largest, cast<RankedTensorType>(argument.getType()).getDimSize(dim));
  return largest;
}

/// A dimension has an element for every part, at least.
static LogicalResult checkSize(func::FuncOp main, unsigned index, unsigned dim,
                               MeshAttr mesh, StringRef axis) {
  auto type = cast<RankedTensorType>(main.getArgument(index).getType());
  if (type.getDimSize(dim) >= mesh.sizeOf(axis))
    return success();
  return main.emitError("argument \"")
         << getArgName(main, index) << "\" expects at least "
         << mesh.sizeOf(axis) << " elements in dimension " << dim << " of "
         << type << ", one per shard over \"" << axis << "\", got "
         << type.getDimSize(dim) << ": " << axis << "=" << type.getDimSize(dim)
         << " is the most";
}

/// Where experts are: parameters whose dimensions say "expert", over ep; and
/// values named where tokens come to them, the batch of which ep does not
/// split, and where they leave them, in the batch of which it does. Between the
/// two layouts tokens travel.
static LogicalResult appendExpertSeeds(func::FuncOp main, MeshAttr mesh,
                                       ArrayRef<StringAttr> batchAxes,
                                       SmallVectorImpl<SeedAttr> &seeds) {
  MLIRContext *context = main.getContext();
  auto ep = StringAttr::get(context, "ep");
  auto spell = [&](ArrayRef<Attribute> dims) {
    bool hasExperts =
        llvm::is_contained(dims, StringAttr::get(context, "expert"));
    SmallVector<StringAttr> ofBatch(batchAxes);
    if (hasExperts)
      llvm::erase(ofBatch, ep);
    SmallVector<DimShardingAttr> result;
    for (Attribute dim : dims) {
      StringRef kind = cast<StringAttr>(dim).getValue();
      SmallVector<StringAttr> axes;
      if (kind == "expert")
        axes = {ep};
      else if (kind == "batch")
        axes = ofBatch;
      result.push_back(DimShardingAttr::get(context, axes, axes.empty()));
    }
    return result;
  };
  SmallVector<NamedSharding> parameters, values;
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto dims = main.getArgAttrOfType<ArrayAttr>(index, attrs::kDims);
    if (!dims || getArgRole(main, index) != Role::Param)
      continue;
    for (auto [dim, kind] : llvm::enumerate(dims)) {
      if (cast<StringAttr>(kind) != "expert")
        continue;
      if (failed(checkSize(main, index, dim, mesh, "ep")))
        return failure();
      parameters.push_back({getArgName(main, index), spell(dims.getValue())});
    }
  }
  if (parameters.empty())
    return main.emitError("expects a parameter whose pp.dims name an "
                          "\"expert\" for the axis \"ep\", got none");
  for (auto name : main.getOps<NameOp>())
    if (name.getDims() && !name.getGradient())
      values.push_back({name.getName(), spell(name.getDims()->getValue()),
                        /*isClosed=*/true});
  appendSeeds(main, parameters, /*priority=*/0, seeds);
  appendSeeds(main, values, /*priority=*/0, seeds);
  return success();
}

FailureOr<SmallVector<SeedAttr>> pp::findSeeds(func::FuncOp main,
                                               PlanAttr plan) {
  MLIRContext *context = main.getContext();
  MeshAttr mesh = plan.getMesh();
  bool splitsSequence = plan.isOn(PlanKey::Sequence);
  SmallVector<SeedAttr> seeds;
  SmallVector<StringAttr> batchAxes;
  for (StringRef name : {"mb", "dp", "ep"})
    if (mesh.lookup(name))
      batchAxes.push_back(StringAttr::get(context, name));
  SmallVector<NamedSharding> inputs, parameters, sequences;
  auto closed = DimShardingAttr::get(context, {}, /*isOpen=*/false);
  auto open = DimShardingAttr::get(context, {}, /*isOpen=*/true);
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    std::optional<Role> role = getArgRole(main, index);
    int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
    if (rank == 0 || (role != Role::Input && role != Role::Label))
      continue;
    SmallVector<DimShardingAttr> dims(rank, closed);
    std::optional<unsigned> sequence =
        splitsSequence ? findSequence(main, index) : std::nullopt;
    if (sequence) {
      if (failed(checkSize(main, index, *sequence, mesh, "tp")))
        return failure();
      dims[*sequence] = open;
      SmallVector<DimShardingAttr> split(rank, open);
      split[*sequence] = DimShardingAttr::get(
          context, StringAttr::get(context, "tp"), /*isOpen=*/false);
      sequences.push_back({getArgName(main, index), split});
    }
    if (batchAxes.empty())
      continue;
    dims[0] = DimShardingAttr::get(context, batchAxes, /*isOpen=*/false);
    inputs.push_back({getArgName(main, index), dims});
  }
  if (splitsSequence && sequences.empty())
    return main.emitError("expects an input whose pp.dims name a \"sequence\" "
                          "for sequence = \"true\", got none");
  appendSeeds(main, inputs, /*priority=*/0, seeds);
  if (mesh.lookup("ep") &&
      failed(appendExpertSeeds(main, mesh, batchAxes, seeds)))
    return failure();
  if (mesh.lookup("tp")) {
    TensorSeeds analysis(main);
    if (failed(analysis.collect()))
      return failure();
    auto axis = DimShardingAttr::get(context, StringAttr::get(context, "tp"),
                                     /*isOpen=*/false);
    SmallVector<std::pair<BlockArgument, unsigned>> split = analysis.select();
    SmallVector<std::pair<BlockArgument, unsigned>> lookedUp =
        analysis.selectLookedUp(split);
    if (plan.isOn(PlanKey::Vocab) && lookedUp.empty())
      return main.emitError("expects a parameter in which an input looks "
                            "something up, and which tp does not split "
                            "otherwise, for vocab = \"true\", got none");
    if (plan.isOn(PlanKey::Vocab) ||
        (plan.getWord(PlanKey::Vocab) == "auto" &&
         findLargest(lookedUp) > findLargest(split)))
      llvm::append_range(split, lookedUp);
    for (auto [argument, dim] : split) {
      if (failed(checkSize(main, argument.getArgNumber(), dim, mesh, "tp")))
        return failure();
      int64_t rank = cast<RankedTensorType>(argument.getType()).getRank();
      SmallVector<DimShardingAttr> dims(rank, open);
      dims[dim] = axis;
      parameters.push_back({getArgName(main, argument.getArgNumber()), dims});
    }
    appendSeeds(main, parameters, /*priority=*/1, seeds);
    appendSeeds(main, sequences, /*priority=*/2, seeds);
  }
  return seeds;
}
