//===- RandomSeeds.cpp - random seeds for a plan --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// No dimension is split into more parts than it has elements, and no axis
// splits two: what a plan would be refused for.
//
//===----------------------------------------------------------------------===//
#include "RandomSeeds.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;

/// What a module may be refused for: it asks for what cannot be had.
static constexpr StringRef kRefusals[] = {
    // An axis whose every use lost to another.
    "to split some tensor",
    // Fewer elements than shards.
    ", one per shard over ",
    // What shards of one op do not have.
    "is computed with its neighbours",
    // A layout over micro-batches asked for where there is no way back.
    "whole over micro-batches", "exist per micro-batch",
    "only sums over micro-batches", "micro-batches of the same elements"};

StringRef pp::testing::findRefusal(StringRef message) {
  for (StringRef reason : kRefusals)
    if (message.contains(reason))
      return reason;
  return "";
}

SmallVector<SeedAttr> pp::testing::drawSeeds(func::FuncOp main, MeshAttr mesh,
                                             std::mt19937 &random) {
  MLIRContext *context = main.getContext();
  auto chance = [&](unsigned percent) { return random() % 100 < percent; };
  SmallVector<SeedAttr> seeds;
  auto draw = [&](StringRef name, Value value, bool isInput, bool isBarrier) {
    const bool isArgument = isa<BlockArgument>(value);
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<SmallVector<StringAttr>> axes(type.getRank());
    bool isSplit = false;
    auto place = [&](int64_t dim, StringRef axisName) {
      MeshAxisAttr axis = mesh.lookup(axisName);
      if (!axis)
        return;
      axes[dim].push_back(axis.getName());
      if (mesh.sizeOf(axes[dim]) > type.getDimSize(dim))
        axes[dim].pop_back();
      else
        isSplit = true;
    };
    if (isInput)
      for (StringRef axis : {"mb", "dp", "ep"})
        place(0, axis);
    else if (type.getRank() > 0 && mesh.lookup("ep") && chance(30))
      place(random() % type.getRank(), "ep");
    if (type.getRank() > 0 && chance(isInput ? 30 : 60))
      place(random() % type.getRank(), "tp");
    if (!isSplit)
      return;
    const bool isOpen = !isArgument || chance(70);
    SmallVector<DimShardingAttr> dims;
    for (ArrayRef<StringAttr> ofDim : axes)
      dims.push_back(DimShardingAttr::get(context, ofDim, isOpen));
    seeds.push_back(SeedAttr::get(context, StringAttr::get(context, name), dims,
                                  isInput ? 0 : random() % 3, isBarrier));
  };
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    draw(getArgName(main, index), argument,
         getArgRole(main, index) == Role::Input, /*isBarrier=*/false);
  }
  for (auto name : main.getOps<NameOp>())
    if (!name.getGradient())
      draw(name.getName(), name.getResult(), /*isInput=*/false, chance(50));
  return seeds;
}
