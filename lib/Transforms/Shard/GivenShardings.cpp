//===- GivenShardings.cpp - shardings of a model, in micro-batches --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A dimension is the batch's if it shares a factor with that of an input.
//
//===----------------------------------------------------------------------===//
#include "GivenShardings.h"
#include "pp/Analysis/FactorClasses.h"
#include "pp/IR/Model.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace pp;

namespace {

/// The dimension of an input or a label that is the batch.
std::optional<unsigned> findBatch(func::FuncOp main, BlockArgument argument) {
  const unsigned index = argument.getArgNumber();
  const std::optional<Role> role = getArgRole(main, index);
  return role == Role::Input || role == Role::Label ? getBatchDim(main, index)
                                                    : std::nullopt;
}

class TimeSplit {
public:
  TimeSplit(func::FuncOp main, StringAttr time);
  void run();

private:
  bool isOfBatch(Value value, unsigned dim) const {
    return batch.contains(classes.classesOf(value, dim).front());
  }
  ShardingAttr split(ShardingAttr given, Value value) const;

  func::FuncOp main;
  StringAttr time;
  FactorClasses classes;
  llvm::DenseSet<FactorClasses::Class> batch;
};

TimeSplit::TimeSplit(func::FuncOp main, StringAttr time)
    : main(main), time(time) {
  for (BlockArgument argument : main.getArguments())
    classes.addValue(argument);
  for (Operation &op : main.getBody().front().without_terminator())
    if (auto shardable = dyn_cast<ShardingOpInterface>(op))
      classes.addOp(&op, shardable.getShardingRule());
  for (BlockArgument argument : main.getArguments())
    if (std::optional<unsigned> dim = findBatch(main, argument))
      batch.insert(classes.classesOf(argument, *dim).front());
}

ShardingAttr TimeSplit::split(ShardingAttr given, Value value) const {
  SmallVector<DimShardingAttr> dims(given.getDims());
  if (llvm::any_of(dims, [&](DimShardingAttr dim) {
        return llvm::is_contained(dim.getAxes(), time);
      }))
    return given;
  for (auto [index, dim] : llvm::enumerate(dims)) {
    const bool isLeft = dim.getAxes().empty() && dim.getIsOpen();
    if (isLeft || !isOfBatch(value, index))
      continue;
    SmallVector<StringAttr> axes{time};
    llvm::append_range(axes, dim.getAxes());
    dim = DimShardingAttr::get(time.getContext(), axes, dim.getIsOpen());
    break; // an axis splits one dimension
  }
  return ShardingAttr::get(time.getContext(), given.getMesh(), dims,
                           given.getPartial());
}

void TimeSplit::run() {
  SmallVector<Attribute> ofArguments(main.getNumArguments());
  for (auto [argument, sharding] :
       llvm::zip_equal(main.getArguments(), ofArguments)) {
    auto given = main.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(),
                                                     attrs::kSharding);
    if (given && findBatch(main, argument))
      sharding = split(given, argument);
  }
  setArgAttrs(main, attrs::kSharding, ofArguments);
  for (auto constraint : main.getOps<ShardingConstraintOp>())
    constraint.setShardingAttr(
        split(constraint.getSharding(), constraint.getConstrained()));
}

} // namespace

void pp::splitByTime(func::FuncOp main, MeshAttr mesh) {
  if (MeshAxisAttr time = mesh.getTimeAxis())
    TimeSplit(main, time.getName()).run();
}
