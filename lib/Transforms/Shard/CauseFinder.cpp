//===- CauseFinder.cpp - finds the cause of a collective ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Propagation records the source of every axis of a value. A partial value has
// its axes from a factor that its op reduced, or one whose sum passed through
// it; a reader wants another layout because of its other operands and results.
//
//===----------------------------------------------------------------------===//
#include "CauseFinder.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Transforms/Cause.h"

using namespace mlir;
using namespace pp;

CauseFinder::CauseFinder(func::FuncOp main, MeshView mesh, PlanAttr plan)
    : main(main), mesh(mesh), plan(plan), updated(getUpdatedArguments(main)) {
  auto enter = [&](Value value, ArrayRef<ValueSources> ofResults,
                   unsigned index) {
    if (index < ofResults.size() && !ofResults[index].empty())
      sources[value] = ofResults[index];
  };
  for (BlockArgument argument : main.getArguments()) {
    enter(argument, findSources(argument.getLoc()).values, 0);
    argument.setLoc(dropSources(argument.getLoc()));
  }
  for (Operation &op : main.getBody().front().without_terminator()) {
    const SourcesOf found = findSources(op.getLoc());
    for (OpResult result : op.getResults())
      enter(result, found.values, result.getResultNumber());
    op.setLoc(dropSources(op.getLoc()));
  }
  joinRoots();
}

const Source *CauseFinder::lookup(Value value, int axis) const {
  auto found = sources.find(value);
  if (found == sources.end())
    return nullptr;
  const auto *source = llvm::find_if(
      found->second, [&](const Source &one) { return one.axis == axis; });
  return source == found->second.end() ? nullptr : source;
}

/// Whether `dim` of a tensor walks one of `factors`.
static bool walksOneOf(const TensorFactors &tensor, int dim,
                       ArrayRef<int64_t> factors) {
  return dim >= 0 && dim < static_cast<int>(tensor.size()) &&
         llvm::any_of(
             tensor[dim],
             [&](int64_t factor) {
               return llvm::is_contained(factors, factor);
             });
}

unsigned CauseFinder::numberOf(const Source &source) {
  auto [entry, isNew] =
      numbers.try_emplace({source.axis, source.root}, asked.size());
  if (isNew) {
    asked.push_back(entry->first);
    same.grow(asked.size());
  }
  return entry->second;
}

/// Joins two sources if one would have spread an axis to where the other has
/// it: both count equally.
void CauseFinder::joinRoots() {
  for (BlockArgument argument : main.getArguments())
    if (auto found = sources.find(argument); found != sources.end())
      for (const Source &source : found->second)
        (void)numberOf(source);
  for (Operation &op : main.getBody().front().without_terminator())
    if (auto shardable = dyn_cast<ShardingOpInterface>(op);
        shardable && !isLayoutChange(&op))
      join(shardable);
}

/// Joins whose axes two tensors of `op` have along one factor.
void CauseFinder::join(ShardingOpInterface op) {
  SmallVector<std::pair<unsigned, const Source *>> ofTensors;
  const unsigned numResults = op->getNumResults();
  auto enter = [&](Value value, unsigned tensor) {
    if (auto found = sources.find(value); found != sources.end())
      for (const Source &source : found->second)
        ofTensors.push_back({tensor, &source});
  };
  for (OpResult result : op->getResults())
    enter(result, result.getResultNumber());
  for (OpOperand &operand : op->getOpOperands())
    enter(operand.get(), numResults + operand.getOperandNumber());
  std::optional<ShardingRule> rule; // most ops have it all from one
  auto factorsOf = [&](unsigned tensor, int dim) -> const DimFactors & {
    return tensor < numResults ? rule->results[tensor][dim]
                               : rule->operands[tensor - numResults][dim];
  };
  for (auto [tensor, source] : ofTensors)
    for (auto [other, theirs] : ofTensors) {
      if (other <= tensor || source->axis != theirs->axis ||
          source->root == theirs->root)
        continue;
      if (!rule)
        rule = op.getShardingRule();
      const DimFactors &factors = factorsOf(other, theirs->dim);
      if (llvm::any_of(factorsOf(tensor, source->dim), [&](int64_t factor) {
            return llvm::is_contained(factors, factor);
          }))
        same.join(numberOf(*source), numberOf(*theirs));
    }
}

/// Adds who asks for the axis of `source`, and all who ask for the same.
void CauseFinder::insert(const Source &source, Roots &roots) const {
  auto found = numbers.find({source.axis, source.root});
  if (found == numbers.end()) {
    roots.insert(source.root);
    return;
  }
  const unsigned leader = same.findLeader(found->second);
  for (auto [number, one] : llvm::enumerate(asked))
    if (same.findLeader(number) == leader)
      roots.insert(one.second);
}

/// Adds the sources of the split of a summed dimension over `axis` in `value`,
/// and returns the op that sums it; null if it is not found.
Operation *CauseFinder::appendReduced(Value value, int axis,
                                      Roots &roots) const {
  // Sums pass through few ops before they are reduced.
  for (unsigned depth = 0; depth < 8; ++depth) {
    auto shardable =
        dyn_cast_or_null<ShardingOpInterface>(value.getDefiningOp());
    if (!shardable)
      return nullptr;
    const ShardingRule rule = shardable.getShardingRule();
    SmallVector<int64_t> reduced;
    for (auto [number, factor] : llvm::enumerate(rule.factors))
      if (factor.kind == FactorKind::Reduction)
        reduced.push_back(number);
    bool isSum = false;
    for (OpOperand &operand : shardable->getOpOperands())
      if (const Source *source = lookup(operand.get(), axis);
          source && walksOneOf(rule.operands[operand.getOperandNumber()],
                               source->dim, reduced)) {
        insert(*source, roots);
        isSum = true;
      }
    if (isSum)
      return shardable;
    if (rule.additive.empty())
      return nullptr;
    value = shardable->getOperand(rule.additive.front().front());
  }
  return nullptr;
}

/// Adds who has the reader of `use` want `axis` in that dimension of its
/// operand, or not want it there: by the tensors of the op that have the axis
/// along the same factor, or along another one.
void CauseFinder::appendReaders(OpOperand &use, int axis, unsigned dim,
                                bool isWanted, Roots &roots) {
  Operation *reader = use.getOwner();
  const unsigned index = use.getOperandNumber();
  auto append = [&](Value value, function_ref<bool(int)> isRival) {
    if (const Source *source = lookup(value, axis);
        source && isRival(source->dim))
      roots.insert(source->root);
  };
  if (isa<func::ReturnOp>(reader)) {
    if (updated[index])
      append(updated[index],
             [&](unsigned other) { return (other == dim) == isWanted; });
    return;
  }
  auto shardable = dyn_cast<ShardingOpInterface>(reader);
  if (!shardable)
    return;
  const ShardingRule rule = shardable.getShardingRule();
  const DimFactors &factors = rule.operands[index][dim];
  auto appendAlong = [&](Value value, const TensorFactors &tensor) {
    append(value, [&](int other) {
      return walksOneOf(tensor, other, factors) == isWanted;
    });
  };
  for (auto [value, tensor] :
       llvm::zip_equal(reader->getResults(), rule.results))
    appendAlong(value, tensor);
  for (OpOperand &operand : reader->getOpOperands())
    if (&operand != &use)
      appendAlong(operand.get(), rule.operands[operand.getOperandNumber()]);
}

void CauseFinder::findOrigins(OpOperand &use, const LocalValue &from,
                              const Layout &layout, Cause &cause) {
  Roots origins, readers;
  for (auto [axis, reduction] : from.partial)
    if (Operation *sum = appendReduced(use.get(), axis, origins)) {
      cause.maker = sum->getName().getStringRef().str();
      cause.makerAt = describeLocation(sum->getLoc());
    }
  // Axes that only one of the two layouts has.
  for (auto [dim, has, wants] : llvm::enumerate(from.layout, layout))
    for (int axis = 0; axis < mesh.numAxes(); ++axis) {
      const bool isThere = llvm::is_contained(has, axis);
      const bool isWanted = llvm::is_contained(wants, axis);
      if (isThere == isWanted)
        continue;
      const Source *source = lookup(use.get(), axis);
      if (isThere && source)
        insert(*source, origins);
      appendReaders(use, axis, dim, isWanted, readers);
    }
  for (StringAttr root : origins)
    cause.origins.push_back(root.str());
  for (StringAttr root : readers)
    if (!origins.contains(root) && cause.layouts.empty())
      cause.readers.push_back(root.str());
}

Cause CauseFinder::find(OpOperand &use, const LocalValue &from,
                        const Layout &layout) {
  Cause cause;
  Operation *reader = use.getOwner();
  Value value = use.get();
  unsigned index = use.getOperandNumber();
  if (isa<func::ReturnOp>(reader)) {
    cause.user = "result \"" + getResultName(main, index).str() + "\" of @main";
  } else {
    cause.user = "operand " + std::to_string(index) + " of " +
                 reader->getName().getStringRef().str();
    cause.userAt = describeLocation(reader->getLoc());
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    cause.maker =
        "argument \"" + getArgName(main, argument.getArgNumber()).str() + "\"";
  else
    cause.maker = value.getDefiningOp()->getName().getStringRef().str();
  cause.text = cause.user + " needs " + mesh.spell(layout);
  if (!from.partial.empty())
    if (StringRef name = findParameterOfGradient(value); !name.empty()) {
      cause.gradientOf = name.str();
      cause.text = "gradient of \"" + cause.gradientOf + "\": " + cause.text;
    }
  cause.wants = mesh.toSharding(layout);
  SmallVector<PartialAxisAttr> partial;
  for (auto [axis, reduction] : from.partial)
    partial.push_back(
        PartialAxisAttr::get(main.getContext(), mesh.name(axis), reduction));
  ShardingAttr whole = mesh.toSharding(from.layout);
  cause.has = ShardingAttr::get(main.getContext(), whole.getMesh(),
                                whole.getDims(), partial);
  if (auto reshard = dyn_cast<ReshardOp>(reader); reshard && plan) {
    cause.layouts = "zero = " + std::to_string(plan.getInt(PlanKey::Zero));
    auto parameter = reader->getAttrOfType<StringAttr>(attrs::kParameter);
    // It may be gathered in another type than it is stored in.
    if (parameter && !from.partial.empty())
      cause.gradientOf = parameter.str();
    else if (parameter)
      cause.maker = "argument \"" + parameter.str() + "\"";
  }
  if (cause.layouts.empty() || !from.partial.empty())
    findOrigins(use, from, layout, cause);
  return cause;
}
