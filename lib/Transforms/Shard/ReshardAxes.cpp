//===- ReshardAxes.cpp - which axes reshards add --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ReshardAxes.h"

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

/// Which dimension takes `axes` besides what splits it: the first that they
/// divide, else the largest that is whole, else the largest, if it is as large
/// as they are.
std::optional<unsigned>
ReshardAxes::chooseSplit(const ShardingSpread::Value &state,
                         const AxisList &axes) const {
  auto localSize = [&](unsigned dim) {
    return state.sizes[dim] / mesh.size(state.layout[dim]);
  };
  auto dims = llvm::seq<unsigned>(0, state.sizes.size());
  int64_t shards = mesh.size(axes);
  for (unsigned dim : dims)
    if (state.sizes[dim] % (mesh.size(state.layout[dim]) * shards) == 0)
      return dim;
  std::optional<unsigned> best;
  auto rank = [&](unsigned dim) {
    return std::pair(state.layout[dim].empty(), localSize(dim));
  };
  for (unsigned dim : dims)
    if (localSize(dim) >= shards && (!best || rank(dim) > rank(*best)))
      best = dim;
  return best;
}

/// Gives the values that reshards split further their axes, and what follows
/// from that; all that are alike at once, for their order to have no say.
void ReshardAxes::place(bool ofArguments, StringAttr root) {
  for (bool isDone = false; !isDone;) {
    isDone = true;
    for (const ShardingSpread::Node &node : graph.getNodes()) {
      auto reshard = dyn_cast_or_null<ReshardOp>(node.op);
      if (!reshard)
        continue;
      if (isa<BlockArgument>(reshard.getOperand()) != ofArguments)
        continue;
      int value = getFurther(node, reshard);
      ShardingSpread::Value &state = graph.value(value);
      // As many of the axes that it lacks as some dimension has elements for.
      AxisList added;
      llvm::copy_if(node.stopped, std::back_inserter(added),
                    [&](int axis) { return !splits(state.layout, axis); });
      std::optional<unsigned> dim;
      while (!added.empty() && !(dim = chooseSplit(state, added)))
        added.pop_back();
      if (!dim)
        continue;
      AxisList axes = state.layout[*dim];
      llvm::append_range(axes, added);
      llvm::append_range(state.added, added);
      graph.propose(value, *dim, axes, root);
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
  // Arguments come first: what is computed with them follows.
  place(/*ofArguments=*/true, root);
  place(/*ofArguments=*/false, root);
}
