//===- AxisSplits.cpp - which axes will split what ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "AxisSplits.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Model.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pp;

LogicalResult AxisSplits::run() {
  Block &body = main.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (getKind(&op) == Kind::Update)
      continue;
    auto shardable = dyn_cast<ShardingOpInterface>(op);
    if (!shardable)
      return op.emitError("expects an op with a sharding rule, got ")
             << op.getName();
    const ShardingRule *rule = rules.add(shardable.getShardingRule());
    classes.addOp(&op, *rule);
    ruleOf[&op] = rule;
  }
  for (BlockArgument argument : main.getArguments())
    classes.addValue(argument);

  const SeedTable table(plan);
  for (BlockArgument argument : main.getArguments())
    for (const MatchedSeed &match :
         table.lookup(getArgName(main, argument.getArgNumber())))
      place(argument, match.dims);
  for (auto name : main.getOps<NameOp>())
    for (const MatchedSeed &match : table.lookup(name.getName()))
      place(name.getResult(), match.dims);
  for (auto constraint : main.getOps<ShardingConstraintOp>())
    place(constraint.getResult(), constraint.getSharding().getDims());
  return success();
}

/// Axes go to the major part of a dimension while it divides; the last part
/// takes what is left.
void AxisSplits::place(Value value, ArrayRef<DimShardingAttr> dims) {
  if (dims.size() != size_t(cast<RankedTensorType>(value.getType()).getRank()))
    return;
  for (auto [dim, sharding] : llvm::enumerate(dims)) {
    if (sharding.getAxes().empty())
      continue;
    SmallVector<Class, 2> parts = classes.classesOf(value, dim);
    auto part = parts.begin();
    int64_t left = classes.size(*part);
    for (StringAttr name : sharding.getAxes()) {
      const int64_t axis = mesh.indexOf(name);
      if (axis < 0)
        return;
      const int64_t shards = mesh.getAxes()[axis].getSize();
      if (left == 1 && part + 1 != parts.end())
        left = classes.size(*++part);
      if (left < shards && part + 1 != parts.end())
        break;
      place(*part, axis);
      left = llvm::divideCeil(left, shards);
    }
  }
}

/// A class has an axis once, whoever brings it.
void AxisSplits::place(Class number, int64_t axis) {
  Split &split =
      splits.try_emplace(number, Split{classes.size(number), {}}).first->second;
  if (llvm::is_contained(llvm::make_first_range(split.axes), axis))
    return;
  const MeshAxisAttr attr = mesh.getAxes()[axis];
  const int64_t left = llvm::divideCeil(split.left, attr.getSize());
  const bool isTime = attr.getKind() == AxisKind::Time;
  split.axes.push_back({axis, isTime ? 1 : double(left) / double(split.left)});
  split.left = left;
}

double AxisSplits::productOf(ArrayRef<Class> numbers) const {
  SmallVector<double, 4> shares(mesh.getAxes().size(), 1);
  for (Class number : numbers)
    if (auto it = splits.find(number); it != splits.end())
      for (auto [axis, share] : it->second.axes)
        shares[axis] = std::min(shares[axis], share);
  return llvm::product_of(shares);
}

double AxisSplits::shareOf(Operation *op) const {
  SmallVector<Class> numbers;
  for (auto [number, factor] : llvm::enumerate(ruleOf.at(op)->factors))
    if (factor.mayBeSplit())
      llvm::append_range(numbers, classes.classesOf(op, number));
  return productOf(numbers);
}

double AxisSplits::shareOf(Value value) const {
  SmallVector<Class> numbers;
  for (int64_t dim :
       llvm::seq(cast<RankedTensorType>(value.getType()).getRank()))
    llvm::append_range(numbers, classes.classesOf(value, dim));
  return productOf(numbers);
}
