//===- ReshardAxes.cpp - axes that reshards add ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ReshardAxes.h"
#include "mlir/IR/Remarks.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;

/// The value that a reshard splits further.
static int getFurther(const ShardingSpread::Node &node, ReshardOp reshard) {
  return node.values[reshard.getChange() == LayoutChange::With ? 0 : 1];
}

void ReshardAxes::stop(
    function_ref<bool(const ShardingSpread::Node &, int, int)> isStopped) {
  for (auto [number, node] : llvm::enumerate(graph.getNodes())) {
    auto reshard = dyn_cast_or_null<ReshardOp>(node.op);
    if (!reshard)
      continue;
    AxisList axes = node.stopped;
    for (auto name : reshard.getAxes().getAsRange<StringAttr>()) {
      int axis = mesh.attr().indexOf(name);
      if (!llvm::is_contained(axes, axis) &&
          isStopped(node, getFurther(node, reshard), axis))
        axes.push_back(axis);
    }
    graph.stop(number, axes);
  }
}

void ReshardAxes::stop(function_ref<bool(int value, int axis)> isWished) {
  stop([&](const ShardingSpread::Node &, int further, int axis) {
    return isWished(further, axis);
  });
}

/// If no axis splits a dimension, the padding that `axes` need is at its end.
/// Otherwise each shard would be padded, and so would the values that share the
/// dimension's factors, if these are one factor there. If they are not, that is
/// padding in the middle, which no argument can have.
bool ReshardAxes::padsInside(Value value, unsigned dim, const AxisList &present,
                             const AxisList &axes) {
  if (!classes) {
    classes.emplace();
    for (const ShardingSpread::Node &node : graph.getNodes())
      if (node.op)
        classes->addOp(node.op, *node.rule);
    auto main = cast<func::FuncOp>(value.getParentRegion()->getParentOp());
    for (auto [result, updated] :
         llvm::zip_equal(main.getBody().front().getTerminator()->getOperands(),
                         getUpdatedArguments(main)))
      if (updated && updated.getType() == result.getType())
        classes->tie(updated, result);
  }
  SmallVector<int64_t> sizes;
  for (FactorClasses::Class part : classes->classesOf(value, dim))
    sizes.push_back(classes->size(part));
  AxisList all = present;
  llvm::append_range(all, axes);
  const Layout parts = splitAxes(all, sizes, mesh);
  return llvm::any_of(llvm::seq<size_t>(1, parts.size()), [&](size_t part) {
    return sizes[part] % mesh.size(parts[part]) != 0;
  });
}

/// The dimension that takes `axes` besides its own, and need not stay whole:
/// the first that they divide, otherwise the largest whole one, otherwise the
/// largest, if it is as large as they are.
std::optional<unsigned>
ReshardAxes::chooseSplit(const ShardingSpread::Value &state, const Split &split,
                         const AxisList &axes) {
  auto localSize = [&](unsigned dim) {
    return state.sizes[dim] / mesh.size(state.layout[dim]);
  };
  auto dims = llvm::make_filter_range(
      llvm::seq<unsigned>(0, state.sizes.size()),
      [&](int64_t dim) { return !llvm::is_contained(split.whole, dim); });
  int64_t shards = mesh.size(axes);
  for (unsigned dim : dims)
    if (state.sizes[dim] % (mesh.size(state.layout[dim]) * shards) == 0)
      return dim;
  std::optional<unsigned> best;
  auto rank = [&](unsigned dim) {
    return std::pair(state.layout[dim].empty(), localSize(dim));
  };
  for (unsigned dim : dims)
    if (localSize(dim) >= shards && (!best || rank(dim) > rank(*best)) &&
        (state.layout[dim].empty() ||
         !padsInside(split.value, dim, state.layout[dim], axes)))
      best = dim;
  return best;
}

/// Reports an argument that has enough elements, but no dimension to split.
void ReshardAxes::report(const Split &split, const AxisList &axes,
                         StringAttr root) {
  BlockArgument argument = split.argument;
  const ShardingSpread::Value &state = graph.value(split.number);
  auto isLarge = [&](unsigned dim) {
    return state.sizes[dim] / mesh.size(state.layout[dim]) >=
           mesh.size(axes.front());
  };
  if (!argument || axes.empty() ||
      llvm::none_of(llvm::seq<unsigned>(0, state.sizes.size()), isLarge) ||
      !reported.insert(split.number).second)
    return;
  auto main = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  std::string names;
  for (StringAttr name : mesh.names(axes))
    names += (names.empty() ? "" : ",") + name.str();
  remark::missed(argument.getLoc(), remark::RemarkOpts::name("unfulfilled")
                                        .category("pp-propagate-shardings"))
      << remark::metric("of", root.getValue())
      << remark::metric("argument", getArgName(main, argument.getArgNumber()))
      << remark::metric("wanted", names)
      << remark::metric("got", mesh.spell(state.layout));
}

ReshardAxes::Split ReshardAxes::findSplit(const ShardingSpread::Node &node) {
  auto reshard = cast<ReshardOp>(node.op);
  const bool isWith = reshard.getChange() == LayoutChange::With;
  Split split{getFurther(node, reshard),
              isWith ? reshard.getResult() : reshard.getOperand(),
              /*whole=*/{},
              /*argument=*/nullptr};
  llvm::append_range(split.whole,
                     reshard.getWhole().value_or(ArrayRef<int64_t>()));
  Value value = reshard.getOperand();
  SmallVector<int64_t> whole = split.whole;
  while (auto op = value.getDefiningOp<ShardingOpInterface>()) {
    const ShardingRule rule = op.getShardingRule();
    if (isWith || op->getNumOperands() != 1 || !rule.keepsDims())
      return split;
    whole = mapDims(rule.results.front(), rule.operands.front(), whole);
    value = op->getOperand(0);
  }
  split.argument = cast<BlockArgument>(value);
  if (isWith)
    return split;
  return {arguments.lookup(split.argument), value, whole, split.argument};
}

/// Gives the values that reshards split further their axes, and spreads them;
/// all equal values at once, so that their order does not matter.
void ReshardAxes::place(bool ofArguments, StringAttr root) {
  for (bool isDone = false; !isDone;) {
    isDone = true;
    for (const ShardingSpread::Node &node : graph.getNodes()) {
      if (!isa_and_nonnull<ReshardOp>(node.op))
        continue;
      const Split split = findSplit(node);
      if ((split.argument != nullptr) != ofArguments)
        continue;
      ShardingSpread::Value &state = graph.value(split.number);
      // As many of the axes that it lacks as some dimension has elements for.
      AxisList added;
      llvm::copy_if(node.stopped, std::back_inserter(added),
                    [&](int axis) { return !splits(state.layout, axis); });
      const AxisList wanted = added;
      std::optional<unsigned> dim;
      while (!added.empty() && !(dim = chooseSplit(state, split, added)))
        added.pop_back();
      if (!dim) {
        report(split, wanted, root);
        continue;
      }
      AxisList axes = state.layout[*dim];
      llvm::append_range(axes, added);
      llvm::append_range(state.added, added);
      graph.propose(split.number, *dim, axes, root);
      isDone = false;
    }
    graph.spread();
  }
}

void ReshardAxes::place(StringAttr root) {
  stop([&](const ShardingSpread::Node &node, int, int axis) {
    return llvm::none_of(node.values, [&](int value) {
      return splits(graph.value(value).layout, axis);
    });
  });
  for (const ShardingSpread::Node &node : graph.getNodes())
    if (node.op)
      for (auto [value, number] : llvm::zip_equal(
               node.op->getOperands(),
               ArrayRef(node.values).drop_front(node.op->getNumResults())))
        if (isa<BlockArgument>(value))
          arguments[value] = number;
  // Arguments come first: values computed with them follow.
  place(/*ofArguments=*/true, root);
  place(/*ofArguments=*/false, root);
}
