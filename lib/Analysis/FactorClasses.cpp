//===- FactorClasses.cpp - dimensions that share a factor -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A union-find over dimensions and factors whose sets may also be split into
// parts: uniting a dimension of 256 with factors 8 x 32 splits its set.
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/FactorClasses.h"

using namespace mlir;
using namespace pp;

int FactorClasses::addNode(int64_t size) {
  nodes.emplace_back(size);
  return nodes.size() - 1;
}

int FactorClasses::find(int node) const {
  // Every other node is hung higher on the way: chains stay short, whatever the
  // order in which they grew.
  while (nodes[node].parent >= 0) {
    int &parent = nodes[node].parent;
    if (nodes[parent].parent >= 0)
      parent = nodes[parent].parent;
    node = parent;
  }
  return node;
}

void FactorClasses::appendLeaves(int node, SmallVectorImpl<int> &leaves) const {
  node = find(node);
  if (!nodes[node].isSplit()) {
    leaves.push_back(node);
    return;
  }
  for (int part : nodes[node].parts)
    appendLeaves(part, leaves);
}

void FactorClasses::unite(int a, int b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return;
  bool isSplitA = nodes[a].isSplit(), isSplitB = nodes[b].isSplit();
  if (isSplitA && isSplitB)
    unite(ArrayRef<int>(a), ArrayRef<int>(b));
  // The younger node hangs below the older one, a whole one below a split one.
  if (isSplitA || (!isSplitB && a < b))
    std::swap(a, b);
  if (find(a) != find(b))
    nodes[a].parent = b;
}

/// Unites two factorizations of one size, from the minor end, splitting the
/// larger factor wherever they meet. Factors that do not divide one another
/// stay apart: no rule shards them together.
void FactorClasses::unite(ArrayRef<int> a, ArrayRef<int> b) {
  SmallVector<int> left, right;
  for (int node : a)
    appendLeaves(node, left);
  for (int node : b)
    appendLeaves(node, right);
  // A leaf may have been united or split since it was listed.
  auto pop = [&](SmallVectorImpl<int> &list) {
    appendLeaves(list.pop_back_val(), list);
    return list.pop_back_val();
  };
  while (!left.empty() && !right.empty()) {
    int x = pop(left), y = pop(right);
    if (nodes[x].size == nodes[y].size) {
      unite(x, y);
      continue;
    }
    bool isLeftLarger = nodes[x].size > nodes[y].size;
    int large = isLeftLarger ? x : y, small = isLeftLarger ? y : x;
    if (nodes[small].size == 0 || nodes[large].size % nodes[small].size)
      return;
    int major = addNode(nodes[large].size / nodes[small].size);
    nodes[large].parts[0] = major;
    nodes[large].parts[1] = small;
    (isLeftLarger ? left : right).push_back(major);
  }
}

void FactorClasses::addValue(Value value) {
  if (!firstDim.try_emplace(value, nodes.size()).second)
    return;
  for (int64_t size : cast<RankedTensorType>(value.getType()).getShape())
    addNode(size);
}

void FactorClasses::addOp(Operation *op, const ShardingRule &rule) {
  for (Value value : op->getResults())
    addValue(value);
  for (Value value : op->getOperands())
    addValue(value);
  int first = nodes.size();
  firstFactor[op] = first;
  for (const Factor &factor : rule.factors)
    addNode(factor.size);
  auto add = [&](Value value, const TensorFactors &tensor) {
    int dimNode = firstDim.lookup(value);
    for (const DimFactors &factors : tensor) {
      SmallVector<int, 2> parts;
      for (int64_t factor : factors)
        parts.push_back(first + factor);
      if (parts.size() == 1)
        unite(dimNode, parts.front());
      else if (parts.size() > 1)
        unite(ArrayRef<int>(dimNode), parts);
      ++dimNode;
    }
  };
  for (auto [value, tensor] : llvm::zip_equal(op->getResults(), rule.results))
    add(value, tensor);
  for (auto [value, tensor] : llvm::zip_equal(op->getOperands(), rule.operands))
    add(value, tensor);
}

void FactorClasses::tie(Value a, Value b, unsigned dim) {
  addValue(a);
  addValue(b);
  unite(firstDim.lookup(a) + dim, firstDim.lookup(b) + dim);
}

void FactorClasses::tie(Value a, Value b) {
  int64_t rank = cast<RankedTensorType>(a.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim)
    tie(a, b, dim);
}

SmallVector<FactorClasses::Class, 2>
FactorClasses::classesOf(Value value, unsigned dim) const {
  SmallVector<Class, 2> classes;
  appendLeaves(firstDim.lookup(value) + dim, classes);
  return classes;
}

SmallVector<FactorClasses::Class, 2>
FactorClasses::classesOf(Operation *op, unsigned factor) const {
  SmallVector<Class, 2> classes;
  appendLeaves(firstFactor.lookup(op) + factor, classes);
  return classes;
}
