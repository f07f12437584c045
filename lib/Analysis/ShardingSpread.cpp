//===- ShardingSpread.cpp - shardings from values to values ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/ShardingSpread.h"

using namespace mlir;
using namespace pp;

void ShardingSpread::reserve(size_t numValues, size_t numNodes) {
  values.reserve(numValues);
  nodes.reserve(numNodes);
}

int ShardingSpread::addValue(ArrayRef<int64_t> shape) {
  values.push_back({shape,
                    Layout(shape.size()),
                    llvm::SmallBitVector(shape.size()),
                    {},
                    -1,
                    {},
                    {}});
  return values.size() - 1;
}

void ShardingSpread::connect(Node node, ShardingRule rule) {
  node.rule = rules.add(std::move(rule));
  for (int value : node.values)
    values[value].nodes.push_back(nodes.size());
  nodes.push_back(std::move(node));
}

const ShardingSpread::Source *
ShardingSpread::Value::findSource(int axis) const {
  const Source *found = llvm::find_if(
      sources, [&](const Source &source) { return source.axis == axis; });
  return found == sources.end() ? nullptr : found;
}

void ShardingSpread::tie(int a, int b, int result, bool isUpdate) {
  Node node;
  node.result = result;
  node.isUpdate = isUpdate;
  node.values = {a, b};
  ShardingRule rule;
  TensorFactors factors;
  for (int64_t size : values[a].sizes)
    factors.push_back({rule.addFactor(size)});
  rule.results = rule.operands = {factors};
  connect(std::move(node), std::move(rule));
}

void ShardingSpread::touch(int value) {
  queued.resize(nodes.size());
  for (int node : values[value].nodes) {
    if (queued.test(node))
      continue;
    queued.set(node);
    queue.push_back(node);
  }
}

Layout pp::cutAt(const AxisList &axes, Layout layout) {
  for (AxisList &ofDim : layout)
    ofDim.truncate(
        llvm::find_if(
            ofDim, [&](int axis) { return llvm::is_contained(axes, axis); }) -
        ofDim.begin());
  return layout;
}

/// Lists the op's proposals for its values.
void ShardingSpread::visit(int number) {
  const Node &node = nodes[number];
  const ShardingRule &rule = *node.rule;
  size_t numResults = rule.results.size();
  SmallVector<const Layout *> layouts;
  SmallVector<Layout, 2> cut;
  if (!node.stopped.empty())
    for (int value : node.values)
      cut.push_back(cutAt(node.stopped, values[value].layout));
  for (auto [index, value] : llvm::enumerate(node.values))
    layouts.push_back(cut.empty() ? &values[value].layout : &cut[index]);
  ArrayRef<const Layout *> all = layouts;
  AxisChoice choice;
  Layout factors = chooseFactorAxes(rule, all.take_front(numResults),
                                    all.drop_front(numResults), mesh, &choice);
  for (auto [axis, part] : choice.divisible)
    if (mesh.attr().getAxes()[axis].getKind() == AxisKind::Space)
      divisions.add(axis, part);
  for (auto [index, value] : llvm::enumerate(node.values)) {
    const Value &state = values[value];
    const TensorFactors &tensor = index < numResults
                                      ? rule.results[index]
                                      : rule.operands[index - numResults];
    Layout wanted = layoutOf(rule, tensor, factors, mesh);
    for (auto [dim, axes] : llvm::enumerate(wanted))
      if (!state.closed.test(dim) && axes.size() > state.layout[dim].size() &&
          isPrefix(state.layout[dim], axes)) {
        SmallVector<int, 2> givers;
        for (int axis : axes)
          givers.push_back(choice.givers[axis]);
        proposals.push_back({value, static_cast<unsigned>(dim), axes, number,
                             std::move(givers), StringAttr()});
      }
  }
}

/// Adds axes to a dimension as far as no other has them; an axis splits one
/// dimension of a tensor only. True if some were added.
bool ShardingSpread::extend(const Proposal &proposal) {
  Value &state = values[proposal.value];
  AxisList &mine = state.layout[proposal.dim];
  if (!isPrefix(mine, proposal.axes))
    return false;
  const size_t before = mine.size();
  for (size_t index = before; index < proposal.axes.size(); ++index) {
    const int axis = proposal.axes[index];
    // Single elements are split no further.
    const int64_t size = state.sizes[proposal.dim];
    const bool isSplit = size > 0 && mesh.size(mine) >= size;
    if (axis == state.without || (isSplit && mesh.size(axis) > 1) ||
        llvm::any_of(state.layout, [&](const AxisList &other) {
          return llvm::is_contained(other, axis);
        }))
      break;
    mine.push_back(axis);
    if (proposal.node < 0) {
      state.sources.push_back({axis, -1, -1, proposal.root});
      continue;
    }
    const int giver = proposal.givers[index];
    const Source *from =
        values[nodes[proposal.node].values[giver]].findSource(axis);
    assert(from && "a giver has what it gives");
    state.sources.push_back(
        {axis, proposal.node, giver, from->root, from->length + 1});
  }
  return mine.size() != before;
}

/// Every value takes what it can, in an order that depends on the proposals and
/// not on their origin.
bool ShardingSpread::applyProposals() {
  auto rank = [&](const Proposal &proposal) {
    SmallVector<std::pair<int64_t, int>, 4> axes;
    for (int axis : proposal.axes)
      axes.push_back({mesh.priority(axis), axis});
    return axes;
  };
  llvm::sort(proposals, [&](const Proposal &a, const Proposal &b) {
    if (a.value != b.value)
      return a.value < b.value;
    auto rankA = rank(a), rankB = rank(b);
    return std::tie(rankA, a.dim, a.node) < std::tie(rankB, b.dim, b.node);
  });
  for (const Proposal &proposal : proposals)
    if (extend(proposal))
      touch(proposal.value);
  proposals.clear();
  return !queue.empty();
}

void ShardingSpread::place(int value, unsigned dim, const AxisList &axes,
                           StringAttr root) {
  if (extend({value, dim, axes, -1, {}, root}))
    touch(value);
}

void ShardingSpread::propose(int value, unsigned dim, const AxisList &axes,
                             StringAttr root) {
  proposals.push_back({value, dim, axes, -1, {}, root});
}

void ShardingSpread::spread() {
  while (applyProposals()) {
    SmallVector<int> sweep;
    std::swap(sweep, queue);
    queued.reset();
    for (int node : sweep)
      visit(node);
  }
}
